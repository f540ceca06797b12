"""What torch.save and the launchers around it write."""
