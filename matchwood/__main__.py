"""`python -m matchwood`: the command line without the installed script."""

import sys

from matchwood.commands import main

sys.exit(main())
