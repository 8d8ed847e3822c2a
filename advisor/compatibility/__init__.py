"""Does device code run on a GPU with a driver: pure rules, no files and no hardware."""
