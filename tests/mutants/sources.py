"""Finds where C sources can be changed a little: tokens, functions, and the mutants of a function's body.

A mutant is a change of a few tokens. The instrumented source holds a function's body once more for each of its mutants,
behind a switch: `if (LUD_MUTANT(17)) { changed body } original body`. So one build holds hundreds of mutants, and the
original stays as fast as it is.
"""
import platform
import re
from collections import namedtuple

Token = namedtuple("Token", "kind text begin end line")
# kind: word, number, operator, string, directive
PATTERN = re.compile(r"""
    (?P<skip>\s+|//[^\n]*|/\*.*?\*/|\\\n)
  | (?P<directive>^[ \t]*\#(?:[^\n\\]|\\.|\\\n)*)
  | (?P<string>[LuU]?"(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.)*')
  | (?P<number>\.?[0-9](?:[eEpP][+-]|[0-9A-Za-z_.])*)
  | (?P<word>[A-Za-z_][A-Za-z_0-9]*)
  | (?P<operator>\.\.\.|<<=|>>=|->|\+\+|--|<<|>>|<=|>=|==|!=|&&|\|\||[-+*/%&|^]=|.)
""", re.VERBOSE | re.MULTILINE | re.DOTALL)

# What these are given is text, or for assertions, for speed, or for giving memory back.
IGNORED_CALLS = re.compile(
    r"^(static_assert|_Static_assert|assert|PRAGMA|__builtin_prefetch|__builtin_expect|lud_fail\w*|lud_invalid\w*|lud_no_memory"
    r"|H5\w*close|lud_log\w*|lud_text_\w*|\w*printf|free|LUD_FREE|\w*_(free|destroy|close|forget)|lud_progress\w*|lud_cpu_threads"
    r"|lud_profile\w*|lud_parallel\w*|PARALLEL_\w+|vec_should_pass|rows_ahead|num_threads|pthread_mutex_\w+|pthread_cond_\w+|memory_\w*|\w*_bytes_needed|lud_clock\w*|munmap|madvise"
    r"|perror|fprintf|sizeof|offsetof|GRID_ITEMS|GRAPH_HEADS|lud_arena_create)$")
IGNORED_FUNCTIONS = re.compile(
    r"(describe|print|message|about|^name_|^append_|_text$|_name$|_names$|summary|report|_free$|destroy|close|progress|estimate|memory|bytes$|threads|"
    r"_log$|cleanup|release|prefetch|rows_ahead|should_pass|milliseconds|speed)")
# More memory than is needed changes nothing that anybody could see.
ALLOCATIONS = re.compile(r"^(malloc|calloc|realloc|aligned_alloc|lud_grow|LUD_TAKE|lud_arena_take\w*|lud_device_allocate|lud_cpu_workspace)$")
# Conditions of what only gives memory back do not show either; nor do sizes that are rounded up to whole blocks.
GIVES_BACK = re.compile(r"^(free|LUD_FREE|H5\w*close|fclose|close|\w*_(free|destroy|close))$")
ROUNDED_UP = re.compile(r"\+ [0-9]+\) / ([0-9]+) \* \1(?![0-9])")
COMPARISONS = {"<": "<=", "<=": "<", ">": ">=", ">=": ">", "==": "!=", "!=": "=="}
OTHERS = {"&&": "||", "||": "&&", "+=": "-=", "-=": "+="}
BEFORE_BINARY = ("word", "number", "string")
KEYWORDS_BEFORE_UNARY = {"return", "case", "else", "do", "goto", "sizeof"}
ASSIGNMENTS = {"=", "+=", "-=", "*=", "/=", "%=", "&=", "|=", "^=", "<<=", ">>=", "++", "--"}

Mutant = namedtuple("Mutant", "file function kind line begin end text was")


def tokens_of(text):
    tokens, line, at = [], 1, 0
    for match in PATTERN.finditer(text):
        line += text.count("\n", at, match.start())
        at = match.start()
        if match.lastgroup != "skip":
            tokens.append(Token(match.lastgroup, match.group(), match.start(), match.end(), line))
    return tokens


def matching(tokens, at, step, opening, closing):
    depth = 0
    while 0 <= at < len(tokens):
        depth += (tokens[at].text == opening) - (tokens[at].text == closing)
        if depth == 0:
            return at
        at += step
    return None


class Function:
    """Tokens[first] is the body's opening brace, tokens[last] its closing one."""

    def __init__(self, name, is_void, first, last):
        self.name, self.is_void, self.first, self.last = name, is_void, first, last


def functions_of(tokens):
    found, at, began = [], 0, 0
    while at < len(tokens):
        token = tokens[at]
        if token.kind == "directive" or token.text == ";":
            began = at + 1
        if token.text == "{":
            last = matching(tokens, at, 1, "{", "}")
            if last is None:
                break
            if at and tokens[at - 1].text == ")":
                opening = matching(tokens, at - 1, -1, ")", "(")
                name = tokens[opening - 1] if opening else None
                if name and name.kind == "word":
                    before = [t.text for t in tokens[began:opening - 1]]
                    if before and "=" not in before:
                        found.append(Function(name.text, "void" in before and "*" not in before, at, last))
            at, began = last, last + 1
        at += 1
    return found


def is_binary(tokens, at):
    before = tokens[at - 1]
    if before.text in (")", "]"):
        # `(int) -x` would be a cast: only types stand between such parentheses
        if before.text == ")":
            opening = matching(tokens, at - 1, -1, ")", "(")
            if opening is not None and at - opening <= 3 and re.match(r"^(const|u?int\w*|real|float|double|size_t|long|char)$",
                                                                     tokens[opening + 1].text):
                return False
        return True
    return before.kind in BEFORE_BINARY and before.text not in KEYWORDS_BEFORE_UNARY


def number_changed(text, up):
    """A whole number one off, a real one half as much again; nothing for what is neither."""
    whole = re.match(r"^([0-9]+)([uUlL]*)$", text)
    if whole:
        if text.startswith("0") and len(whole.group(1)) > 1:
            return None
        value = int(whole.group(1)) + (1 if up or int(whole.group(1)) == 0 else -1)
        return f"{value}{whole.group(2)}"
    real = re.match(r"^([0-9]*\.[0-9]*(?:[eE][-+]?[0-9]+)?|[0-9]+[eE][-+]?[0-9]+)([fFlL]?)$", text)
    if real:
        value = float(real.group(1))
        return f"{value * 1.5 if value else 1.0!r}{real.group(2)}"
    return None


def ranges_within(tokens, first, last, calls=IGNORED_CALLS):
    """Indices of tokens within calls whose names match."""
    ignored = set()
    at = first
    while at < last:
        if tokens[at].kind == "word" and calls.match(tokens[at].text) and tokens[at + 1].text == "(":
            end = matching(tokens, at + 1, 1, "(", ")") or last
            ignored.update(range(at, end + 1))
            at = end
        at += 1
    return ignored


def conditions_of_giving_back(tokens, first, last):
    """Indices of tokens between the parentheses of an `if` or a `for` behind which something is only given back."""
    found = set()
    for at in range(first, last):
        if tokens[at].text in ("if", "for") and tokens[at + 1].text == "(":
            closing = matching(tokens, at + 1, 1, "(", ")")
            if closing and GIVES_BACK.match(tokens[closing + 1].text) and tokens[closing + 2].text == "(":
                end = matching(tokens, closing + 2, 1, "(", ")")
                if end and tokens[end + 1].text == ";":
                    found.update(range(at, closing + 1))
    return found


def fills(tokens, at):
    """Whether this is what memset writes."""
    return tokens[at - 1].text == tokens[at + 1].text == "," and any(
        tokens[i].text == "memset" and tokens[i + 1].text == "(" and "," not in [t.text for t in tokens[i:at - 1]] for i in range(at - 12, at))


# The larger or the smaller of two numbers is the same number where they are equal.
EXTREMES = (re.compile(r"\bif \([^?:]*?\|\| ([\w.>\[\]-]+) [<>] ([\w.>\[\]-]+)\) \2 = \1;"),
            re.compile(r"\bif \(([^()?]*?) [<>] ([\w.>\[\]-]+?)\) \2 = \1;"),
            re.compile(r"(?<![\w.>\])])([\w.>\[\]-]+) [<>] ([\w.>\[\]-]+) \? (?:\1 : \2|\2 : \1)(?![\w.>\[(-])"),
            re.compile(r"(?:[=(,?:]|\breturn) ?((?:[^?:;,=(){}<>]|->)+?) [<>] ((?:[^?:;,=(){}<>]|->)+?) \? (?:\1 : \2|\2 : \1)(?=[;,)\]]|$| :)"))


def is_extreme(text, token):
    """Whether this comparison only chooses between the numbers that it compares: `a > b ? a : b`, `if (a > most) most = a;`."""
    begin, end = text.rfind("\n", 0, token.begin) + 1, text.find("\n", token.begin)
    return any(m.start() < token.begin - begin < m.end() for e in EXTREMES for m in e.finditer(text[begin:end]))


def extreme_constant(text, tokens, at, up, whole):
    """Whether this is the number in the comparison of an extreme, moved to where equal ones are: `n > 1 ? n : 1` is `n > 0 ? n : 1`.
    `whole`: names that are whole numbers."""
    for operator, other, larger_is_right in ((at - 1, at - 2, False), (at + 1, at + 2, True)):
        sign, name = tokens[operator], tokens[other]
        if sign.text not in ("<", ">") or not is_extreme(text, sign) or name.text not in whole:
            continue
        if (tokens[other - 1] if other < at else tokens[other + 1]).text in (".", "->", "]", "[", "*", "+", "-", "/", "%", "("):
            continue
        return up == ((sign.text == ">") == larger_is_right)
    return False


# A variable that is a whole number, or several of one declaration.
WHOLE = re.compile(r"^(u?int(8|16|32|64)_t|int|size_t|long|hsize_t)$")


def declared(tokens, first, last, types):
    """Names that a function declares with such a type, its parameters too."""
    names, at = set(), first
    while at > 0 and tokens[at].text not in (";", "}") and tokens[at].kind != "directive":
        at -= 1 # to the function's head
    while at < last:
        if tokens[at].kind == "word" and types.match(tokens[at].text) and tokens[at + 1].kind == "word":
            names.add(tokens[at + 1].text)
            depth, i = 0, at + 2
            while i < last and depth >= 0 and not (depth == 0 and tokens[i].text in (";", ")")):
                depth += (tokens[i].text in ("(", "[", "{")) - (tokens[i].text in (")", "]", "}"))
                if depth == 0 and tokens[i].text == "," and tokens[i + 1].kind == "word" and tokens[i + 2].text in ("=", ",", ";"):
                    names.add(tokens[i + 1].text)
                i += 1
        at += 1
    return names


def of_handles(tokens, first, last):
    """Indices of tokens that ask whether a handle of HDF5's is one: it gives none that is 0, and any negative number is none."""
    handles, found = declared(tokens, first, last, re.compile(r"^hid_t$")), set()
    for at in range(first + 1, last):
        if tokens[at].text in handles and tokens[at + 1].text in ("<", ">=") and tokens[at + 2].text == "0":
            found.update((at + 1, at + 2))
        if tokens[at].text == "-" and tokens[at + 1].text == "1" and not is_binary(tokens, at):
            begin = at
            while begin > first and tokens[begin].text not in (";", "{", "}", "="):
                begin -= 1
            if tokens[begin].text == "=" and tokens[begin - 1].text in handles:
                found.add(at + 1)
    return found


def of_rooms(tokens, first, last, allocated):
    """Indices of tokens of numbers that say nothing but how much memory is asked for."""
    found = set()
    for at in range(first + 1, last):
        if tokens[at].text != "=" or tokens[at - 1].kind != "word" or tokens[at - 2].text != "size_t" or tokens[at - 3].text != "const":
            continue
        end, depth = at, 0
        while tokens[end].text != ";" and not (depth == 0 and tokens[end].text == ","):
            depth += (tokens[end].text in ("(", "[")) - (tokens[end].text in (")", "]"))
            end += 1
        uses = [i for i in range(end, last) if tokens[i].text == tokens[at - 1].text and tokens[i - 1].text not in (".", "->")]
        if uses and allocated.issuperset(uses):
            found.update(range(at + 1, end))
    return found


def of_errors(tokens, first, last):
    """Indices of tokens that an error begins with, which says nothing until there is one."""
    return {at + 4 for at in range(first, last - 5)
            if tokens[at].text == "lud_error" and [t.text for t in tokens[at + 2:at + 6]] == ["=", "{", "0", "}"]}


def is_length(tokens, at):
    """Whether this is in the brackets of an array's declaration: `int32_t rows[2 * N + 1]`."""
    opening = at
    while opening > 2 and tokens[opening].text not in ("[", ";", "{", "}"):
        opening -= 1
    name, before, start = tokens[opening - 1], tokens[opening - 2], opening
    while before.text == "," and start > 0 and tokens[start - 1].text not in ("(", ";"):
        start -= 1 # `hsize_t now[N] = {0}, most[N]`: of the same declaration
        if tokens[start].kind == tokens[start - 1].kind == "word" and tokens[start - 2].text in (";", "{", "}"):
            return tokens[opening].text == "[" and name.kind == "word" and tokens[start - 1].text not in ("return", "else")
    return tokens[opening].text == "[" and name.kind == "word" and before.kind == "word" and before.text not in ("return", "else")


def may_hold(condition, kind):
    """Whether a branch can be taken where VEC_<kind> alone is defined, and the machine's own name, and whether it must be."""
    names = f"VEC_{kind}", f"__{platform.machine()}__"
    known = re.sub(r"(!?)\s*defined\s*\(?\s*(VEC_\w+|__(?:x86_64|aarch64)__)\s*\)?",
                   lambda m: str((m.group(2) in names) != bool(m.group(1))), condition)
    words = known.replace("&&", " and ").replace("||", " or ").split()
    if any(word not in ("True", "False", "and", "or") for word in words):
        return True, False
    return eval(" ".join(words)), eval(" ".join(words))  # nothing but True, False, and, or


def left_alone(tokens, vectors):
    """Indices of tokens that no processor of this kind gets (`vectors`: PLAIN, AVX2, AVX512), of how much work there
    is for threads, and of loops that only assert."""
    found, branches = set(), []  # a branch: the kinds that may be in it, and those that were in one before it for certain
    for at, token in enumerate(tokens):
        if token.kind == "directive":
            word, _, condition = token.text.strip().lstrip("# ").partition(" ")
            if word.startswith("if"):
                branches.append((set(), set()))
            if word.startswith("if") or word in ("elif", "else"):
                before = branches[-1][1]
                holds = {k: (True, False) if word in ("else", "ifdef", "ifndef") else may_hold(condition, k) for k in vectors}
                branches[-1] = ({k for k in vectors if holds[k][0] and k not in before}, before | {k for k in vectors if holds[k][1]})
            elif word.startswith("endif"):
                branches.pop()
        elif branches and not set(vectors).intersection(*(kinds for kinds, _ in branches)):
            found.add(at)
        elif (tokens[at - 1].text, token.text) in (("int64_t", "work"), ("int", "n_threads")) and tokens[at + 1].text == "=":
            while tokens[at].text != ";":
                found.add(at)
                at += 1
        elif token.text in ("assert", "__builtin_prefetch") and tokens[at - 1].text == ")":
            opening = matching(tokens, at - 1, -1, ")", "(")
            if opening and tokens[opening - 1].text == "for":
                found.update(range(opening, at))
    return found


def loses_a_macro(function, tokens):
    """Whether the function's body ends a macro that it did not begin, so that it cannot stand there twice."""
    begun, directives = set(), [t.text for t in tokens[function.first:function.last] if t.kind == "directive"]
    for text in directives:
        word, _, rest = text.strip().lstrip("# ").partition(" ")
        name = re.match(r"\w*", rest.strip()).group()
        if word == "define":
            begun.add(name)
        elif word == "undef" and name not in begun:
            return True
    return False


def statement_end(tokens, at, last):
    """The index of the `;` that ends the statement which begins at `at`, when it is one that can be left out."""
    token = tokens[at]
    if token.text in ("continue", "break") and tokens[at + 1].text == ";":
        return at + 1
    if token.kind != "word" and token.text != "*":
        return None
    if token.text in ("return", "if", "for", "while", "do", "switch", "else", "case", "default", "goto", "static", "const", "struct",
                      "enum", "union", "typedef", "unsigned", "extern"):
        return None
    depth, assigns, i = 0, False, at
    while i < last:
        text = tokens[i].text
        depth += (text in "([{" and len(text) == 1) - (text in ")]}" and len(text) == 1)
        if depth < 0:
            return None
        if depth == 0 and text == ";":
            break
        if depth == 0 and text in ASSIGNMENTS:
            assigns = True
        i += 1
    words = tokens[at:i]
    if token.text == "LUD_TRY" and tokens[at + 2].text.startswith("lud_progress"):
        return None # what is shown meanwhile
    if [t.text for t in words[:1] + words[2:]] == ["*", "=", "NULL"]:
        return None # a result until there is one, which only who reads it after a failure sees
    # `type name` and `type *name` declare
    if len(words) > 1 and words[0].kind == "word" and words[1].kind == "word":
        return None
    if len(words) > 2 and words[0].kind == "word" and words[1].text == "*":
        return None
    is_call = len(words) > 2 and words[1].text == "(" and words[-1].text == ")"
    # how much room there is: without it, it is taken again each time
    if assigns and any(t.kind == "word" and re.search(r"(capacity|room)$", t.text) for t in tokens[at:at + 3]):
        return None
    return i if assigns or is_call else None


def mutants_of(file, text, vectors=("PLAIN", "AVX2", "AVX512")):
    """Every mutant of the file, in order, and its functions; none of what is compiled for other vectors only."""
    tokens = tokens_of(text)
    functions, found, alone = functions_of(tokens), [], left_alone(tokens, vectors)
    for function in functions:
        if IGNORED_FUNCTIONS.search(function.name) or loses_a_macro(function, tokens):
            continue
        ignored = ranges_within(tokens, function.first, function.last) | alone
        ignored |= conditions_of_giving_back(tokens, function.first, function.last)
        ignored |= of_handles(tokens, function.first, function.last) | of_errors(tokens, function.first, function.last)
        allocated = ranges_within(tokens, function.first, function.last, ALLOCATIONS)
        allocated |= of_rooms(tokens, function.first, function.last, allocated)
        whole = declared(tokens, function.first, function.last, WHOLE)

        def add(kind, begin, end, new):
            found.append(Mutant(file, function, kind, tokens[begin].line, tokens[begin].begin, tokens[end].end, new,
                                text[tokens[begin].begin:tokens[end].end]))

        for at in range(function.first + 1, function.last):
            token, before = tokens[at], tokens[at - 1]
            if at in ignored or token.kind in ("string", "directive"):
                continue
            if token.kind == "operator":
                if token.text in COMPARISONS:
                    if token.text in ("<", ">") and is_extreme(text, token):
                        continue
                    if token.text == "<=" and [t.text for t in tokens[at - 2:at]] == ["+", "VEC"]:
                        continue # what is left, be it a whole vector, is done behind such a loop
                    add("comparison", at, at, COMPARISONS[token.text])
                elif token.text in OTHERS:
                    add("condition" if token.text in ("&&", "||") else "sign", at, at, OTHERS[token.text])
                elif token.text in "+-" and is_binary(tokens, at):
                    if token.text == "+" or at not in allocated:
                        add("sign", at, at, "-" if token.text == "+" else "+")
                elif token.text in ("-", "!") and not is_binary(tokens, at):
                    add("sign" if token.text == "-" else "condition", at, at, "")
            elif token.kind == "number":
                if before.text == "case" or (before.text == "[" and tokens[at + 1].text == "]" and tokens[at + 2].text in ("=", ";", ",")
                                             and tokens[at - 3].kind == "word" and tokens[at - 3].text not in ("return",)):
                    continue
                line = text.rfind("\n", 0, token.begin) + 1
                if any(m.start() <= token.begin - line < m.end() for m in ROUNDED_UP.finditer(text[line:text.find("\n", token.begin)])):
                    continue
                if token.text == "0" and fills(tokens, at):
                    add("constant", at, at, "255") # no number, where it is one; bytes of 1 are hardly more than nothing
                    continue
                # -1 stands for none; that -2 does so too is no difference to `< 0`
                none = token.text == "1" and before.text == "-" and not is_binary(tokens, at - 1)
                for up in (False,) if none else (True, False):
                    new = number_changed(token.text, up)
                    if new is not None and (up or new != number_changed(token.text, True)) and not (
                            up and (at in allocated or is_length(tokens, at))) and not extreme_constant(text, tokens, at, up, whole):
                        add("constant", at, at, new)
            if before.text in ("{", "}", ";") or (before.text == ")" and before_is_condition(tokens, at - 1)) or before.text == "else":
                end = statement_end(tokens, at, function.last)
                if end is not None:
                    add("left out", at, end, ";")
    return tokens, functions, found


def before_is_condition(tokens, closing):
    opening = matching(tokens, closing, -1, ")", "(")
    return opening is not None and opening > 0 and tokens[opening - 1].text in ("if", "for", "while")


def instrumented(text, tokens, chosen):
    """The text with bodies added, chosen: [(number, mutant)]. Also the lines [(first, last, number)] of each body."""
    by_function = {}
    for number, mutant in chosen:
        by_function.setdefault(mutant.function, []).append((number, mutant))
    out, at, lines, line = [], 0, [], 1
    for function in sorted(by_function, key=lambda f: f.first):
        opening, closing = tokens[function.first], tokens[function.last]
        out.append(text[at:opening.end])
        at = opening.end
        line = sum(part.count("\n") for part in out) + 1
        for number, mutant in by_function[function]:
            body = text[opening.end:mutant.begin] + mutant.text + text[mutant.end:closing.begin]
            copy = f" if (LUD_MUTANT({number})) {{{body}\n{'return' if function.is_void else '__builtin_trap()'}; }}\n"
            lines.append((line, line + copy.count("\n"), number))
            line += copy.count("\n")
            out.append(copy)
    out.append(text[at:])
    return "".join(out), lines


def key(mutant, text, tokens):
    """What names a mutant in the list of equivalents, however lines move: file, function, what changes, the source line, and
    which of the lines that say the same in the function it is."""
    begin = text.rfind("\n", 0, mutant.begin) + 1
    end = text.find("\n", mutant.begin)
    line = text[begin:end]
    was = " ".join(mutant.was.split())
    nth = line.count(mutant.was, 0, mutant.begin - begin) + 1 if "\n" not in mutant.was else 1
    same = " ".join(line.split())
    before = text[tokens[mutant.function.first].begin:begin].split("\n")[:-1]
    line_nth = sum(" ".join(other.split()) == same for other in before) + 1
    return (f"{mutant.file} | {mutant.function.name} | {same}{'' if line_nth == 1 else f' [{line_nth}]'} | "
            f"{'without' if mutant.kind == 'left out' else was + ' -> ' + (mutant.text or 'nothing')}{'' if nth == 1 else f' ({nth})'}")
