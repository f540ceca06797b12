"""Makes `python -m jaxdoctor` the same as `jaxdoctor`."""

from jaxdoctor.cli import main

if __name__ == "__main__":
    main()
