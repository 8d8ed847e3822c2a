"""Text formats: PTX, build logs and cuobjdump listings."""
