"""python -m pliant.cli"""

from pliant.cli import app

app()
