import ColumnStorage

extension StoreError {
    /// Decodes data of a file; errors contain `what`, the description of the data, and the name of the file.
    static func decoding<Result>(
        _ bytes: [UInt8], _ what: String, of file: ColumnFile,
        _ decode: (inout ByteReader) throws -> Result
    ) throws -> Result {
        do {
            return try ByteReader.decode(bytes, of: what, decode)
        } catch is DamagedEncoding {
            throw StoreError(
                .fileCorrupt, "'\(file.path)': the \(what) stored in the file is damaged")
        } catch let error as StoreError {
            throw error.at("'\(file.path)'")
        }
    }
}

extension Optional {
    /// Returns the value, or throws an error if there is none.
    func orThrow<Failure: Error>(
        _ error: @autoclosure () -> Failure
    ) throws(Failure) -> Wrapped {
        guard let self else { throw error() }
        return self
    }
}
