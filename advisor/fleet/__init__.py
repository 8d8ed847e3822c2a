"""Many machines of one owner: what each of them said, and what tells one from its equals."""
