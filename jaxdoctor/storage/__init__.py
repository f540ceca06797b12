"""What every checkpoint reader needs: paths that stay inside, bounded reads, shapes checked first."""
