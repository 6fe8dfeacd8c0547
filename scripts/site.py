"""Creates the pages of the website: a hook of MkDocs, which scripts/site.yml names.

The pages are the DocC articles of all modules, the sections of LuaAPI.md by topic, and the examples. The syntax of DocC
becomes that of MkDocs: links to articles and to Swift symbols, pictures with a dark variant, and line breaks. Pages of
modules that the navigation does not list are on the site of DocC only, below `swift`.
"""

import logging
import re
from pathlib import Path
from urllib.parse import quote

from mkdocs.structure.files import File
from mkdocs.utils import get_relative_url

root = Path(__file__).resolve().parent.parent
log = logging.getLogger("mkdocs.hooks.site")  # A warning fails the build.
articles = {path.stem: path for path in sorted(root.glob("Sources/*/*.docc/*.md"))}
pictures = {path.name: path for path in root.glob("Sources/*/*.docc/Resources/*.*g")}


def slug(text):
    return re.sub(r"\W+", "-", text.lower())


def sections(text, level):
    """Returns the sections of a page by their headings."""
    parts = re.split(rf"(?m)^{'#' * level} (.+)\n", text)
    return dict(zip(parts[1::2], parts[2::2]))


# The pages of the Lua API


def with_signatures(section):
    """Names each function as its signature does: `store:objects` instead of `objects of store`."""
    heading = re.compile(r"^### (\S+) of (.+)\n\n`([\w.]+[.:]\w+)\(", re.M)
    return heading.sub(lambda m: f"### {m[3]} {{ #{slug(m[2])}-{m[1]} }}\n\n`{m[3]}(", section)


def api_pages(topics):
    """Returns the pages of the topics by their paths, and the index that ends LuaAPI.md."""
    parts = sections(articles["LuaAPI"].read_text(), 2)
    pages, index = {}, []
    for topic, names in topics.items():
        path = f"api/{slug(topic)}.md"
        pages[path] = f"# {topic}\n\n"
        index.append(f"\n### {topic}\n")
        for name in names:
            body = with_signatures(parts.pop(name))
            functions = re.findall(r"^### (\S+) \{ #(\S+) \}$", body, re.M)
            links = " · ".join(f"[`{re.split('[.:]', name)[-1]}`]({path}#{anchor})" for name, anchor in functions)
            index.append(f"- [{name}]({path}#{slug(name)})" + (f": {links}" if links else ""))
            pages[path] += f"## {name}\n{body}"
    for name in parts.keys() - {"Overview"}:
        log.warning("the section '%s' of LuaAPI.md has no topic in site.yml", name)
    return pages, "## Contents\n" + "\n".join(index)


# The pages of the examples


def head(text):
    """Returns the first comment of a file as Markdown, and the code after it."""
    lines, comment = text.splitlines(), []
    while re.match(r"#!|// swift-tools|import |$", lines[0]):
        lines.pop(0)
    while lines and re.match(r"--|//|#", lines[0]):
        comment.append(re.sub(r"^(--|///?|#) ?", "", lines.pop(0)))
    return re.sub(r"(?m)^ \| ", "    ", "\n".join(comment)), "\n".join(lines).strip("\n")


def example_pages():
    folder = root / "examples"
    files = [path for path in sorted(folder.rglob("*")) if path.suffix in (".lua", ".swift") or path.name == "run"]
    groups = {}
    for path in files:
        if not any(part.startswith(".") for part in path.relative_to(folder).parts):
            groups.setdefault(path.relative_to(folder).parts[0], []).append(path)
    pages, index = {}, ["# Examples\n\nComplete programs. The tests run each script and compare its output.\n", "| | |\n|---|---|"]
    for name, members in sorted(groups.items(), key=lambda group: (group[0] != "first-steps.lua", group[0])):
        text, code = max((head(path.read_text()) for path in members), key=lambda parts: len(parts[0]))
        page = [f"# {name}\n", text + "\n"]
        if len(members) == 1:
            page.append(f"## Source\n\nRun it with `moonpool examples/{name}`.\n\n````lua\n{code}\n````\n")
        for path in members if len(members) > 1 else []:
            code = path.read_text().strip("\n")
            page.append(f"## {path.relative_to(folder / name)}\n\n````{path.suffix[1:] or 'sh'}\n{code}\n````\n")
        uri = f"examples/{name.removesuffix('.lua')}.md"
        pages[uri] = "\n".join(page)
        index.append(f"| [{name}]({Path(uri).name}) | {' '.join(text.split(chr(10) * 2)[0].split())} |")
    return pages, "\n".join(index)


# The site


def labels(items):
    """Returns the label of each page in the navigation."""
    found = {}
    for item in items:
        for label, value in item.items() if isinstance(item, dict) else [(None, item)]:
            found |= labels(value) if isinstance(value, list) else {value: label}
    return found


generated = {}


def on_config(config):
    pages, generated["LuaAPI.md"] = api_pages(config.extra["topics"])
    examples, generated["examples/index.md"] = example_pages()
    generated.update(pages | examples)
    for item in config.nav:
        item.get("Lua API", []).extend({topic: f"api/{slug(topic)}.md"} for topic in config.extra["topics"])
        item.get("Examples", []).extend({page.split("\n")[0][2:]: path} for path, page in examples.items())
    config.extra["labels"] = labels(config.nav)


def on_files(files, config):
    for name, path in articles.items():
        if f"{name}.md" in config.extra["labels"] or "``" not in path.read_text().split("\n")[0]:
            files.append(File.generated(config, f"{name}.md", abs_src_path=str(path)))
    for name, path in pictures.items():
        files.append(File.generated(config, f"images/{name}", abs_src_path=str(path)))
    for uri, content in generated.items():
        if uri != "LuaAPI.md":
            files.append(File.generated(config, uri, content=content))
    return files


def on_page_markdown(text, page, config, files):
    module = Path(page.file.abs_src_path or "").parent.stem

    def symbol(path):
        path = path[1:] if path.startswith("/") else f"{module}/{path}"
        target = f"swift/documentation/{path.lower()}/"
        if config.extra["swift"] and not Path(config.extra["swift"]).parent.joinpath(target, "index.html").exists():
            log.warning("%s: no Swift symbol %s", page.file.src_uri, path)
        return f'<a href="{get_relative_url(quote(target), page.url)}"><code>{path.split("/")[-1]}</code></a>'

    def article(path):
        name = path.split("/")[-1]
        if not files.get_file_from_path(f"{name}.md"):
            return symbol(path)
        title = articles[name].read_text().split("\n")[0][2:]
        return f"[{config.extra['labels'][f'{name}.md'] if '``' in title else title}]({name}.md)"

    def picture(alt, name):
        file = next((file for file in (f"{name}.png", f"{name}.svg") if file in pictures), f"{name}.png")
        dark = file.replace(".", "~dark.")
        if dark not in pictures:
            return f"![{alt}](images/{file})"
        return f"![{alt}](images/{file}#only-light)![{alt}](images/{dark}#only-dark)"

    if page.file.src_uri == "LuaAPI.md":
        text = text[: text.index("\n## moonpool\n")] + "\n" + generated["LuaAPI.md"]
    readme = sections((root / "README.md").read_text(), 2)
    readme = {title: re.sub(r"\]\(Sources/[^)]*/(\w+\.md)\)", r"](\1)", body) for title, body in readme.items()}
    text = re.sub(r"<!-- README: (.+) -->", lambda m: readme[m[1]].strip("\n"), text)
    text = re.sub(r"^# ``.*``", lambda _: f"# {page.title}", text)
    text = re.sub(r"(?s)\n## Topics\n.*", "\n", text)
    text = re.sub(r"(?<!`)``([^`\n]+)``(?!`)", lambda m: symbol(m[1]), text)
    text = re.sub(r"<doc:([^>]+)>", lambda m: article(m[1]), text)
    text = re.sub(r"!\[([^\]]+)\]\(([\w-]+)\)", lambda m: picture(m[1], m[2]), text)
    return re.sub(r"(?m)^(`.*`)\\$", r"\1  ", text)
