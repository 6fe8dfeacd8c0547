/// An error that a requester receives instead of a reply.
package struct RequestError: Error, Hashable, CustomStringConvertible {
    /// The code for programs: `timed_out`, `unavailable`, `limit_exceeded`, `invalid_argument`, or the code of the
    /// handler's error.
    package let code: String
    /// The message.
    package let message: String
    /// Whether no service has received the request.
    package let isUnhandled: Bool

    package init(_ code: String, _ message: String, isUnhandled: Bool = false) {
        self.code = code
        self.message = message
        self.isUnhandled = isUnhandled
    }

    /// The error of requests that a service can no longer answer.
    static func stopped(_ subject: String) -> RequestError {
        RequestError("unavailable", "the service '\(subject)' has stopped")
    }

    /// The message, followed by the code.
    package var description: String { "\(message) (\(code))" }
}

/// Validates the subjects of requests.
package enum RequestSubject {
    /// Throws `invalid_argument` for a text that is not a subject, which consists of words with dots between them.
    ///
    /// A service may use `*` for any word and a last `>` for one or more words.
    package static func check(_ subject: String, allowsWildcards: Bool) throws {
        let words = subject.split(separator: ".", omittingEmptySubsequences: false)
        let isValid = words.enumerated().allSatisfy { index, word in
            guard word != "*" else { return allowsWildcards }
            guard word != ">" else { return allowsWildcards && index == words.count - 1 }
            return !word.isEmpty
                && word.utf8.allSatisfy { $0 > 0x20 && $0 != 0x7F && $0 != 0x2A && $0 != 0x3E }
        }
        guard isValid, subject.utf8.count <= 1000 else {
            throw RequestError(
                "invalid_argument",
                "'\(subject)' is not a valid subject; use words between dots, such as zoo.write")
        }
    }
}
