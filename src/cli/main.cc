#include "cli/command.h"

int main(int argc, char** argv) { return nextscale::RunCommandLine(argc, argv); }
