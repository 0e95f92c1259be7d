"""Libraries: folders and files of classes, read class by class."""
