"""``python -m leafspine``."""

from leafspine.cli import main

if __name__ == "__main__":
    main()
