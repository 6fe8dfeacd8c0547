import ObjectStore

/// A stable code of an error.
///
/// Scripts read its text as `err.code`.
public typealias ErrorCode = StoreError.Code

extension StoreError.Code: ExpressibleByStringLiteral {
    /// Creates a code from its text.
    public init(stringLiteral value: String) { self.init(rawValue: value) }
}

/// An error of the library, with a code for programs and a message.
///
/// All errors of the library conform to this protocol. An operation can throw two other kinds of errors:
/// `CancellationError`, and the errors of closures and Codable values of the program.
///
/// ```swift
/// do {
///     try await store.write { tx in try tx.insert(Dog(name: "Rex")) }
/// } catch let error as any MoonpoolError where error.code == .duplicateKey {
///     print(error.message)
/// }
/// ```
///
/// If a registered function throws an error of the program that conforms, the error keeps its code and message in Lua.
public protocol MoonpoolError: Error, CustomStringConvertible {
    /// The stable code.
    var code: ErrorCode { get }
    /// A sentence with the cause, the location and the solution.
    var message: String { get }
}

extension MoonpoolError {
    /// The message, followed by the code.
    public var description: String { "\(message) (\(code))" }
}

extension StoreError: MoonpoolError {}
