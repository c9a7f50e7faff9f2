"""Becomes the program: signals, standard input and the exit code are its own."""

import os
import sys

from tempo9 import PROGRAM


def main():
    os.execv(PROGRAM, ["tempo9", *sys.argv[1:]])


if __name__ == "__main__":
    main()
