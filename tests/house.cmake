# Tests of the house: headers, style, floors, install, README.
