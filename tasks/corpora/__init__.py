"""From a source file to partition versions: readers, normalisation, units, quarantine."""
