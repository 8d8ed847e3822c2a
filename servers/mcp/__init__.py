"""The server of the Model Context Protocol: the commands as tools for agents."""
