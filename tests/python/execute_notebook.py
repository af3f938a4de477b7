"""Executes a notebook in a folder: ``execute_notebook.py NOTEBOOK FOLDER OUTPUT``.

``examples/results.ipynb`` is executed with it as NOTEBOOK and as OUTPUT, in an empty FOLDER.
"""

import sys
from pathlib import Path

import nbformat
from nbclient import NotebookClient


def main(notebook: Path, folder: Path, output: Path) -> None:
    """Runs every cell in the folder, and writes the notebook with what they show."""
    content = nbformat.read(notebook, as_version=4)
    client = NotebookClient(
        content, timeout=300, record_timing=False, resources={"metadata": {"path": str(folder)}}
    )
    client.execute()
    content.metadata = {
        "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
        "language_info": {"name": "python"},
    }
    nbformat.write(content, output)


if __name__ == "__main__":
    main(*(Path(word) for word in sys.argv[1:]))
