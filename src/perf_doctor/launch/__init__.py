"""From the words of a launch to typed settings: flags, file names, model names, secrets."""
