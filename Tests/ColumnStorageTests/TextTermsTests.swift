import Testing

@testable import ColumnStorage

@Suite struct TextTermsTests {
    private func terms(_ text: String) -> [String] {
        TextTerms.all(in: Array(text.utf8).span).map { String(decoding: $0, as: UTF8.self) }
    }

    @Test func `invalid and empty texts have no terms`() {
        #expect(terms("").isEmpty)
        #expect(terms(" \n\t--- '' ... ,.'").isEmpty)
        #expect(terms("\u{0}\u{1}").isEmpty)
        let broken: [UInt8] = [0xFF, 0xC3, 0x61, 0x62, 0xE2, 0x82]
        #expect(TextTerms.all(in: broken.span) == [[0x61, 0x62]])
    }

    @Test func `words are folded: lower case, no diacritics, plain letters`() {
        #expect(terms("The QUICK brown_fox 42") == ["the", "quick", "brown_fox", "42"])
        #expect(
            terms("Čeština Ångström café cafe\u{301}") == ["cestina", "angstrom", "cafe", "cafe"])
        #expect(terms("Łódź Straße Øre İstanbul") == ["lodz", "strasse", "ore", "istanbul"])
        #expect(terms("ΣΊΣΥΦΟΣ σίσυφος") == ["σισυφοσ", "σισυφοσ"])
    }

    @Test func `apostrophes join letters, points and commas join digits`() {
        #expect(
            terms("don't don’t 'quoted' rock'n'roll") == ["dont", "dont", "quoted", "rocknroll"])
        #expect(
            terms("3.14 1,000.5 v1.2 end.Start 7.") == [
                "3.14", "1,000.5", "v1.2", "end", "start", "7",
            ])
        #expect(terms("a''b 1..2 x'1") == ["a", "b", "1", "2", "x", "1"])
    }

    @Test func `scripts without spaces have a term for each character`() {
        #expect(terms("東京tower") == ["東", "京", "tower"])
        #expect(terms("ガム") == ["カ\u{3099}", "ム"])
        #expect(terms("привет, мир") == ["привет", "мир"])
    }

    @Test func `a long word is always truncated at the same length`() {
        let word = String(repeating: "x", count: 500)
        #expect(terms(word) == [String(repeating: "x", count: TextTerms.longest)])
        let query = TextQuery(word)
        #expect(query?.matches(Array((word + "y").utf8).span) == true)
    }

    private func matches(_ query: String, _ text: String) -> Bool? {
        TextQuery(query)?.matches(Array(text.utf8).span)
    }

    @Test func `a search requires all words, excludes words after a minus, and matches prefixes`() {
        #expect(matches("", "anything") == false)
        #expect(matches("- * -*", "anything") == false)
        #expect(matches("red dog", "A dog, RED as rust") == true)
        #expect(matches("red dog", "A reddish dog") == false)
        #expect(matches("red* dog", "A reddish dog") == true)
        #expect(matches("dog -red", "A red dog") == false)
        #expect(matches("dog -red", "A blue dog") == true)
        #expect(matches("-red", "A blue dog") == true)
        #expect(matches("-red", "") == true)
        #expect(matches("dog -re*", "A reddish dog") == false)
        #expect(matches("-well-known dog", "a well known dog") == false)
        #expect(matches("-well-known dog", "a known dog") == true)
        #expect(matches("rust-red", "red rust") == true)
        #expect(TextQuery(String(repeating: "a ", count: 65)) == nil)
        #expect(TextQuery((0..<64).map { "a\($0)" }.joined(separator: " ")) != nil)
    }

    @Test func `the score grows with occurrences and falls with length`() {
        let query = TextQuery("red dog")!
        func score(_ text: String) -> Double { query.score(Array(text.utf8).span) }
        #expect(score("cat") == 0)
        #expect(score("red dog") > score("red dog and many other words besides"))
        #expect(score("red red dog x") > score("red big dog x"))
    }
}
