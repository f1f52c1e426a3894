# Reads a table with pyarrow and writes it to standard output as CSV text, which Esper reads as it reads data.kind: table.
# Arguments: parquet or datasets; the file or folder; the folder in which pyarrow may lie. Before the text stands the line
# "ok", behind it "end of the table", or "error: ..." where it went wrong. Nothing of the data is run: no pickle, no code.
import csv
import json
import os
import sys


class Refused(Exception):
    pass


def parquet_tables(path):
    import pyarrow.parquet
    files = [path]
    if os.path.isdir(path):
        files = sorted(os.path.join(path, name) for name in os.listdir(path) if name.endswith(".parquet"))
        if not files:
            raise Refused("the folder holds no .parquet files")
    for file in files:
        with pyarrow.parquet.ParquetFile(file) as table:
            yield table.schema_arrow, table.iter_batches(batch_size=4096)


def saved_files(path):
    """The Arrow files of a data set that Hugging Face's save_to_disk() wrote."""
    try:
        with open(os.path.join(path, "state.json"), encoding="utf-8") as file:
            named = [entry["filename"] for entry in json.load(file)["_data_files"]]
    except FileNotFoundError:
        raise Refused("the folder has no state.json; expected what save_to_disk() writes")
    except (ValueError, KeyError, TypeError) as problem:
        raise Refused(f"state.json is damaged: {problem}")
    for name in named:
        if not isinstance(name, str) or os.path.basename(name) != name or name in ("", ".", ".."):
            raise Refused(f"state.json names {name!r}, which is no file of the folder")
    return [os.path.join(path, name) for name in named]


def datasets_tables(path):
    import pyarrow
    for name in saved_files(path):
        with pyarrow.memory_map(name) as source:
            reader = pyarrow.ipc.open_stream(source)
            yield reader.schema, iter(reader)


def class_labels(schema):
    """The names of the classes of columns that Hugging Face calls ClassLabel, by column."""
    try:
        features = json.loads((schema.metadata or {}).get(b"huggingface", b"{}"))["info"]["features"]
        return {name: feature["names"] for name, feature in features.items()
                if isinstance(feature, dict) and feature.get("_type") == "ClassLabel" and feature.get("names")}
    except (ValueError, KeyError, TypeError, AttributeError):
        return {}


def kind_of(field):
    from pyarrow import types
    kind = field.type
    if types.is_dictionary(kind):
        kind = kind.value_type
    if types.is_boolean(kind):
        return "boolean"
    if types.is_integer(kind) or types.is_floating(kind) or types.is_decimal(kind):
        return "number"
    if types.is_string(kind) or types.is_large_string(kind):
        return "text"
    is_list = types.is_list(kind) or types.is_large_list(kind) or types.is_fixed_size_list(kind)
    if is_list and (types.is_integer(kind.value_type) or types.is_floating(kind.value_type)):
        return "list"
    raise Refused(f"column {field.name!r} holds {field.type}; a table holds numbers, texts and lists of numbers")


def cell(value):
    if value is None:
        return ""
    if isinstance(value, bool):
        return int(value)
    return repr(value) if isinstance(value, float) else value


class Writer:
    """Columns of lists become one column for each number; all rows have as many as the first."""

    def __init__(self, schema):
        self.names, self.kinds = schema.names, [kind_of(field) for field in schema]
        self.labels = class_labels(schema)
        self.lengths = None
        self.rows = csv.writer(sys.stdout, lineterminator="\n")

    def write(self, batch):
        columns = [column.to_pylist() for column in batch.columns]
        for row in zip(*columns):
            if self.lengths is None:
                self.begin(row)
            self.rows.writerow([one for i, value in enumerate(row) for one in self.cells(i, value)])

    def begin(self, row):
        self.lengths = [len(value) if kind == "list" and value is not None else 1 for value, kind in zip(row, self.kinds)]
        names = []
        for name, kind, length in zip(self.names, self.kinds, self.lengths):
            names += [f"{name}.{i}" for i in range(length)] if kind == "list" else [name]
        sys.stdout.write("ok\n")
        self.rows.writerow(names)

    def cells(self, column, value):
        if self.kinds[column] != "list":
            names = self.labels.get(self.names[column])
            if names and isinstance(value, int) and 0 <= value < len(names):
                value = names[value]
            return [cell(value)]
        if value is None or len(value) != self.lengths[column]:
            raise Refused(f"column {self.names[column]!r} has lists of different lengths")
        return [cell(one) for one in value]


def main(kind, path, packages):
    sys.path.append(packages)
    try:
        import pyarrow
    except ImportError:
        raise Refused(f"the Python {sys.executable} has no pyarrow; scripts/bootstrap --tables installs it")
    writer = None
    for schema, batches in (parquet_tables if kind == "parquet" else datasets_tables)(path):
        if writer is None:
            writer = Writer(schema)
        if schema.names != writer.names or [kind_of(field) for field in schema] != writer.kinds:
            raise Refused("its files have different columns")
        for batch in batches:
            writer.write(batch)
    if writer is None or writer.lengths is None:
        raise Refused("it has no rows")
    print("end of the table", flush=True)


def run():
    sys.stdout.reconfigure(encoding="utf-8", newline="")
    try:
        main(*sys.argv[1:4])
    except Refused as problem:
        print(f"error: {problem}", flush=True)
        sys.exit(1)
    except Exception as problem:  # whatever pyarrow makes of a damaged file
        print(f"error: {type(problem).__name__}: {' '.join(str(problem).split())}", flush=True)
        sys.exit(1)


run()
