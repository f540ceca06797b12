#!/bin/bash
# A Slurm Prolog (slurm.conf: Prolog=/etc/slurm/slurm-prolog.sh). It tests the node's cards, whatever a user has set.
#
#   exit 1 of jaxdoctor   a test failed: the node is drained, and Slurm requeues the job
#   exit 3                something could not be tested, which says nothing about the node: it is left alone
#   anything else         a mistake of this script or of jaxdoctor: the node is left alone too, and the log says so
#
# A Prolog that ends with anything but 0 drains the node, so every other way out of here is 0.
set -u

card=${JAXDOCTOR_CARD:-h100}
count=${JAXDOCTOR_COUNT:-8}
seconds=${JAXDOCTOR_SECONDS:-30}

report=$(timeout --kill-after=5 "$seconds" jaxdoctor probe --level 1 --expect-card "$card" --expect-count "$count" \
  --time-limit "$((seconds > 10 ? seconds - 5 : seconds))" --quiet --format concise --color never 2> /dev/null)
code=$?

case $code in
  0) exit 0 ;;
  1)
    # Only names of tests go into the reason: words of ours, which quote nothing from the machine.
    failed=$(grep -oE '^FAIL [a-z]+' <<< "$report" | cut -d' ' -f2 | paste -sd, -)
    scontrol update NodeName="${SLURMD_NODENAME:-$(hostname -s)}" State=DRAIN Reason="jaxdoctor: ${failed:-unknown} failed"
    exit 1
    ;;
  3) logger -t jaxdoctor "something could not be tested, the node is left alone" ;;
  *) logger -t jaxdoctor "the tests ended with $code, the node is left alone" ;;
esac
exit 0
