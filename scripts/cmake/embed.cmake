# cmake -DIN=FILE -DOUT=FILE.cpp -P embed.cmake: the bytes of a file as esper::program::kWorkerSource.
file(READ ${IN} bytes HEX)
string(REGEX REPLACE "(................................................................)" "\"\\1\"\n" bytes "${bytes}")
string(REGEX REPLACE "\n([0-9a-f]+)$" "\n\"\\1\"" bytes "${bytes}")
string(REGEX REPLACE "([0-9a-f][0-9a-f])" "\\\\x\\1" bytes "${bytes}")
file(SIZE ${IN} size)
file(WRITE ${OUT} "#include \"program/compile/worker_source.h\"\n\nnamespace esper::program {\n
static const char kBytes[] =\n${bytes};
const std::string_view kWorkerSource(kBytes, ${size});\n\n}  // namespace esper::program\n")
