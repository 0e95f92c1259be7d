"""From the text of a modelDescription.xml to a checked description."""
