#!/usr/bin/env python3
"""Fails on a new circle of files that import each other, and on an import against the order of a folder's floors.

A *file* imports another one if its code names an item that the other one defines: in a `use`, or in a path that begins with `crate`, `self`,
`super`, a child module or an imported module. Re-exports are followed to the file that defines the item. Hence:

- A `mod.rs` that only declares and re-exports its children imports none of them. If it also uses a re-exported name in its own code, it does.
- A child that needs an item of its parent's file imports the parent. If the parent's own code uses that child, both form a circle.
- Method calls have no path, so they are no imports. Code under `#[cfg(test)]` and files `tests.rs` do not count.

Circles that exist are in scripts/circles-allowed.txt, one a line: `crate: file file …`. A circle that is not part of such a line fails. So does a
line that names a file which is in no circle any more: the list only shrinks. `--write` drops what is gone, and never adds. `--list` prints each
circle with the imports in it and what they import.

Floors: a `mod.rs` whose head has a line `//! Floors, lowest first: a, b, c.` holds modules a, b, c; a file in one may import files of lower
floors and of its own, none of a higher one. A module of that folder that is on no floor is free.
"""

import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
ALLOWED = ROOT / "scripts" / "circles-allowed.txt"
ITEM = re.compile(
    r"\b(?:struct|enum|union|trait|type|const|static|fn|macro_rules!)\s+(?:mut\s+)?(?:r#)?([A-Za-z_]\w*)"
)
PATH = re.compile(r"(?<![\w:.$'])(\$?[A-Za-z_]\w*(?:\s*::\s*[A-Za-z_]\w*)+)")
MOD = re.compile(r"\bmod\s+([a-z_]\w*)\s*([;{])")
USE = re.compile(r"((?:\bpub(?:\s*\([^)]*\))?\s+)?)\buse\s+([^;]+);")
FLOORS = re.compile(r"^//! Floors, lowest first: ([a-z_, ]+)\.\s*$", re.M)


def strip(text: str) -> str:
    """Code without comments and literals; newlines stay."""
    pattern = re.compile(
        r"""//[^\n]*|(?P<block>/\*)|b?r(?P<h>\#*)".*?"(?P=h)|b?"(?:\\.|[^"\\])*"|b?'(?:\\(?:u\{[^}]*\}|x..|.)|[^'\\\n])'""", re.S
    )
    out = []
    at = 0
    while found := pattern.search(text, at):
        out.append(text[at : found.start()])
        at = found.end()
        if found["block"]:
            depth = 1
            while depth and at < len(text):
                step = re.compile(r"/\*|\*/").search(text, at)
                depth += 1 if step[0] == "/*" else -1
                at = step.end()
        out.append("\n" * text.count("\n", found.start(), at) or " ")
    return "".join(out) + text[at:]


def closing(text: str, at: int) -> int:
    """Where the block that opens at `at` ends."""
    depth = 0
    for place in range(at, len(text)):
        depth += {"{": 1, "}": -1}.get(text[place], 0)
        if depth == 0:
            return place + 1
    return len(text)


def outermost(text: str) -> str:
    """Code without what is in braces: items that belong to a module, not to a type."""
    out, depth = [], 0
    for part in re.split(r"([{}])", text):
        depth += {"{": 1, "}": -1}.get(part, 0)
        if depth == 0:
            out.append(part)
    return "".join(out)


def without_tests(text: str) -> tuple:
    """Code without items under `#[cfg(test)]`, and the names of the test modules that are files of their own."""
    modules = set()
    while found := re.search(r"#\[cfg\((?:test|all\(test\b[^\]]*)\)\]", text):
        end = found.end()
        # A variant, a field or an arm of a `match` ends with a comma, or with the block that it is in.
        stop = re.compile(r"[;{},]").search(text, end)
        if stop is None:
            break
        if named := re.search(r"\bmod\s+(\w+)\s*;", text[end : stop.end()]):
            modules.add(named[1])
        is_use = re.match(r"\s*(?:pub\S*\s+)?use\b", text[end:])
        if is_use:
            end = text.index(";", end) + 1
        else:
            end = closing(text, stop.start()) if stop[0] == "{" else stop.start() if stop[0] == "}" else stop.end()
        text = text[: found.start()] + text[end:]
    return text, modules


def use_tree(tree: str) -> list:
    """The leaves of a use declaration: (segments, name in scope); the name is `*` for a glob."""
    tree = tree.strip().removeprefix("::")
    brace = tree.find("{")
    if brace < 0:
        path, _, alias = tree.partition(" as ")
        segments = [part.strip() for part in path.split("::")]
        if segments[-1] == "self":
            segments.pop()
        return [(segments, alias.strip() or segments[-1])] if segments else []
    prefix = [part.strip() for part in tree[:brace].split("::") if part.strip()]
    inner = tree[brace + 1 : tree.rindex("}")]
    leaves, depth, start = [], 0, 0
    for place, char in enumerate(inner + ","):
        depth += {"{": 1, "}": -1}.get(char, 0)
        if char == "," and depth == 0:
            part = inner[start:place].strip()
            start = place + 1
            if part == "self":
                leaves.append((prefix, prefix[-1]))
            elif part:
                leaves += [(prefix + segments, name) for segments, name in use_tree(part)]
    return leaves


class Module:
    """A module: its file, children by name, items that it defines, and names that it imports."""

    def __init__(self, file, parent, code):
        self.file, self.parent, self.code = file, parent, code
        self.children, self.items, self.imports, self.globs, self.reexports = {}, set(), {}, [], set()


class Crate:
    def __init__(self, source: pathlib.Path):
        self.edges = {}
        self.floors = {}
        self.modules = []
        self.known = {}
        roots = [source / name for name in ("lib.rs", "main.rs") if (source / name).exists()]
        for root in roots:
            self.root = self.load(root, None, source)
            for module in self.modules:
                self.connect(module)
            self.modules = []

    def load(self, file, parent, folder):
        text = file.read_text()
        name = str(file.relative_to(ROOT))
        if floors := FLOORS.search(text):
            self.floors[str(folder.relative_to(ROOT))] = [part.strip() for part in floors[1].split(",")]
        self.edges.setdefault(name, {})
        code, tests = without_tests(strip(text))
        return self.fill(Module(name, parent, ""), code, folder, tests)

    def fill(self, module, code, folder, tests):
        self.modules.append(module)
        at = 0
        own = []
        while found := MOD.search(code, at):
            own.append(code[at : found.start()])
            name = found[1]
            if found[2] == "{":
                at = closing(code, found.end() - 1)
                inner = Module(module.file, module, "")
                module.children[name] = self.fill(inner, code[found.end() : at - 1], folder / name, tests)
                continue
            at = found.end()
            files = [folder / f"{name}.rs", folder / name / "mod.rs"]
            file = next((file for file in files if file.exists()), None)
            if file and name not in tests:
                module.children[name] = self.load(file, module, folder / name)
        own.append(code[at:])
        code = "".join(own)
        for visible, tree in USE.findall(code):
            for segments, name in use_tree(tree):
                if name == "*":
                    module.globs.append(segments)
                elif name != "_":
                    module.imports[name] = segments
                    if visible.strip():
                        module.reexports.add(name)
        module.code = USE.sub(" ", code)
        module.items = set(ITEM.findall(outermost(module.code)))
        return module

    def resolve(self, module, segments, seen=()):
        """The module that defines what a path names, or None if it is not of this crate; with the name of the item."""
        key = (id(module), *segments)
        if key in seen:
            return None
        if key not in self.known:
            found = self.search(module, segments, (*seen, key))
            if seen and found is None:
                # It may be there when it is not looked for on its own behalf.
                return None
            self.known[key] = found
        return self.known[key]

    def search(self, module, segments, seen):
        head, rest = segments[0], segments[1:]
        if head in ("crate", "$crate"):
            return self.within(self.root, rest, seen)
        if head == "self":
            return self.within(module, rest, seen)
        if head == "super":
            return self.within(module.parent, rest, seen) if module.parent else None
        if head in module.children or head in module.imports or (head in module.items and not rest):
            return self.within(module, segments, seen)
        for glob in module.globs:
            if found := self.resolve(module, glob + segments, seen):
                return found
        return None

    def within(self, module, segments, seen):
        while segments and segments[0] in ("super", "self"):
            module = module.parent if segments[0] == "super" else module
            segments = segments[1:]
            if module is None:
                return None
        if not segments:
            return (module, None)
        head, rest = segments[0], segments[1:]
        if head in module.items and (not rest or head not in module.children):
            return (module, head)
        if head in module.children:
            return self.within(module.children[head], rest, seen)
        if head in module.imports:
            path = module.imports[head]
            # `use name::…`: another crate, for a name is not imported from itself.
            return None if path[0] == head else self.resolve(module, path + rest, seen)
        for glob in module.globs:
            if found := self.resolve(module, glob + segments, seen):
                if found[1] is not None:
                    return found
        return None

    def connect(self, module):
        paths = [path for name, path in module.imports.items()
                 if name not in module.reexports or re.search(rf"\b{re.escape(name)}\b", module.code)]
        paths += [[part.strip() for part in path.split("::")] for path in PATH.findall(module.code)]
        if module.globs:
            # A name that came by a glob: any identifier may be one.
            globs = [glob for glob in module.globs if self.resolve(module, glob)]
            for name in set(re.findall(r"\b[A-Za-z_]\w*\b", module.code)) - module.items - set(module.imports):
                for glob in globs:
                    found = self.resolve(module, glob + [name])
                    if found and found[1]:
                        self.note(module, found)
        for path in paths:
            if found := self.resolve(module, path):
                self.note(module, found)

    def note(self, module, found):
        target, name = found
        if name is not None and target.file != module.file:
            self.edges[module.file].setdefault(target.file, set()).add(name)


def circles(edges: dict) -> list:
    """The strongly connected components of more than one file."""
    order, low, stack, found = {}, {}, [], []

    def visit(file):
        order[file] = low[file] = len(order)
        stack.append(file)
        for target in edges[file]:
            if target not in order:
                visit(target)
                low[file] = min(low[file], low[target])
            elif target in stack:
                low[file] = min(low[file], order[target])
        if low[file] == order[file]:
            part = []
            while part[-1:] != [file]:
                part.append(stack.pop())
            if len(part) > 1:
                found.append(sorted(part))

    for file in sorted(edges):
        if file not in order:
            visit(file)
    return sorted(found)


def against_floors(crate: Crate) -> list:
    wrong = []
    for folder, floors in crate.floors.items():

        def floor(file):
            if not file.startswith(folder + "/"):
                return None
            name = file.removeprefix(folder + "/").split("/")[0].removesuffix(".rs")
            return floors.index(name) if name in floors else None

        for file, targets in crate.edges.items():
            for target, names in targets.items():
                here, there = floor(file), floor(target)
                if here is not None and there is not None and there > here:
                    names = ", ".join(sorted(names))
                    wrong.append(f"{file} imports {names} of {target}: floor {floors[there]} is above {floors[here]}")
    return wrong


def line(crate: str, circle: list) -> str:
    return f"{crate}: " + " ".join(file.removeprefix(f"crates/{crate}/src/") for file in circle)


def main() -> int:
    sys.setrecursionlimit(10_000)
    allowed = {}
    for text in ALLOWED.read_text().splitlines() if ALLOWED.exists() else []:
        if text and not text.startswith("#"):
            crate, _, files = text.partition(": ")
            allowed.setdefault(crate, []).append([f"crates/{crate}/src/{file}" for file in files.split()])
    wrong, rest, count = [], [], 0
    for source in sorted(ROOT.glob("crates/*/src")):
        name = source.parent.name
        crate = Crate(source)
        wrong += against_floors(crate)
        found = circles(crate.edges)
        count += len(found)
        for circle in found:
            if "--list" in sys.argv:
                print(line(name, circle))
                for file in circle:
                    for target in circle:
                        if names := crate.edges[file].get(target):
                            print(f"    {file.split('/src/')[1]} -> {target.split('/src/')[1]}: {', '.join(sorted(names))}")
            if any(set(circle) <= set(known) for known in allowed.get(name, [])):
                rest.append(line(name, circle))
            else:
                wrong.append(f"files import each other: {line(name, circle)}")
        still = {file for circle in found for file in circle}
        for known in allowed.pop(name, []):
            if gone := [file for file in known if file not in still]:
                wrong.append(f"in no circle any more, take out of {ALLOWED.name} (--write does): {line(name, gone)}")
    wrong += [f"no such crate: {crate}" for crate in allowed]
    if "--write" in sys.argv:
        head = [text for text in ALLOWED.read_text().splitlines() if text.startswith("#")]
        ALLOWED.write_text("\n".join(head + rest) + "\n")
        wrong = [text for text in wrong if "in no circle any more" not in text]
    for text in wrong:
        print(f"check-circles: {text}", file=sys.stderr)
    if not wrong:
        print(f"check-circles: {count} circles of files left, all known; imports follow the floors")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
