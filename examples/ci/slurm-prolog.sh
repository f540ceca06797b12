#!/bin/bash
# A Slurm Prolog (slurm.conf: Prolog=/etc/slurm/slurm-prolog.sh). It looks at the machine only: level 1.
#
#   exit 1 of jaxdoctor   something is wrong with this node: it is drained, and Slurm requeues the job
#   exit 3                nothing could be examined, which says nothing about the node: it is left alone
#   anything else         a mistake of this script or of jaxdoctor: the node is left alone too, and the log says so
#
# A Prolog that ends with anything but 0 drains the node, so every other way out of here is 0.
set -u

report=$(timeout --kill-after=5 "${JAXDOCTOR_SECONDS:-60}" \
  jaxdoctor probe --level 1 --fail-on error --quiet --format terminal 2> /dev/null)
code=$?

case $code in
  0) exit 0 ;;
  1)
    # Only codes and names go into the reason: words of ours, which quote nothing from the machine.
    found=$(grep -oE '^JD[0-9]{3} error [a-z0-9-]+' <<< "$report" | sort -u | head -n 5 | paste -sd, -)
    scontrol update NodeName="${SLURMD_NODENAME:-$(hostname -s)}" State=DRAIN Reason="jaxdoctor: ${found:-findings}"
    exit 1
    ;;
  3) logger -t jaxdoctor "nothing could be examined, the node is left alone" ;;
  *) logger -t jaxdoctor "preflight ended with $code, the node is left alone" ;;
esac
exit 0
