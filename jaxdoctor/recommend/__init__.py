"""The verb `recommend`: prescriptions merged and written."""
