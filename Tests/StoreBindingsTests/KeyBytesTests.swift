import Testing

/// Texts that differ only in their Unicode normalization are different keys, elements and values.
@Suite struct KeyBytesTests {
    private func session() throws -> Session {
        let session = try Session(
            """
            T = {
                id = "string primary", group = "string? indexed", list = "string[]", set = "string<>", map = "string{}",
                mixed = "mixed", any = "mixed<>", parts = "Part{}", links = "T{}",
            }, Part = { embedded = true, name = "string" }
            """)
        session.expect(
            """
            one, two = "\\u{e9}", "e\\u{301}"
            store:write(function()
                store:create("T", {
                    id = one, group = one, list = { one, two }, set = { one, two }, map = { [one] = "1", [two] = "2" },
                    mixed = { [one] = 1, [two] = { [one] = 3, [two] = 4 } }, any = { one, two },
                    parts = { [one] = { name = "1" }, [two] = { name = "2" } },
                })
                local b = store:create("T", { id = two, group = two })
                store:object("T", one).links = { [one] = store:object("T", one), [two] = b }
            end)
            a, b = store:object("T", one), store:object("T", two)
            """)
        return session
    }

    @Test(arguments: [
        "#a.set == 2 and #a.any == 2 and #a.map == 2 and #a.mixed == 2 and #a.mixed[two] == 2",
        "a ~= b and a.map[one] == '1' and a.map[two] == '2' and a.mixed[one] == 1 and a.mixed[two][two] == 4",
        "a.parts[one].name == '1' and a.parts[two].name == '2' and a.links[one] == a and a.links[two] == b",
        "a.list:index_of(two) == 2 and a.set:contains(one) and not b.set:contains(one)",
        "#store:objects('T'):group_by('group') == 2 and #store:objects('T'):distinct('group') == 2",
        "#store:objects('T'):where('group == $1', two) == 1 and #store:objects('T'):where { group = one } == 1",
        "#store:objects('T'):where(\"map['\" .. two .. \"'] == '2' and mixed['\" .. one .. \"'] == 1\") == 1",
        "moonpool.json.decode(moonpool.json.encode { [one] = 1, [two] = 2 })[two] == 2",
    ]) func `keys and elements are compared by their bytes`(condition: String) throws {
        try session().expect("assert(\(condition))")
    }

    @Test func `changes of one key leave the other one`() throws {
        try session().expect(
            """
            store:write(function()
                a.map:remove(one)
                a.mixed:set(two, 5)
                store:create("T", { id = one, group = two, map = { [one] = "3" } }, "modified")
            end)
            assert(a.group == two and a.map[one] == "3" and a.map[two] == "2" and a.mixed[one] == 1 and a.mixed[two] == 5)
            copy = moonpool.open { in_memory = "copies of keys" }
            copy:define(store:schema())
            copy:write(function() copy:create("T", a) end)
            assert(#copy:object("T", one).map == 2 and #copy:object("T", one).mixed == 2)
            """)
    }
}
