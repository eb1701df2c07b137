@_exported import Darwin
@_exported import Dispatch

// Declarations that the targets of an app use.

public struct Data: RandomAccessCollection, RangeReplaceableCollection, Hashable, Codable, Sendable {
  public init() {}
  public init(_ bytes: some Sequence<UInt8>) {}
  public init(contentsOf url: URL) throws {}
  public init?(base64Encoded text: String) {}
  public func base64EncodedString() -> String { "" }
  public var startIndex: Int { 0 }
  public var endIndex: Int { 0 }
  public subscript(index: Int) -> UInt8 { 0 }
  public mutating func replaceSubrange(_ range: Range<Int>, with bytes: some Collection<UInt8>) {}
}

public struct Date: Hashable, Codable, Sendable {
  public init() {}
  public init(timeIntervalSince1970: Double) {}
  public init(timeIntervalSinceReferenceDate: Double) {}
  public var timeIntervalSince1970: Double { 0 }
}

public struct Decimal: Hashable, Codable, Sendable, CustomStringConvertible {
  public init(_ number: Int64) {}
  public init(_ number: UInt64) {}
  public init?(string: String, locale: Locale?) {}
  public var isFinite: Bool { true }
  public var description: String { "" }
}

public struct IndexPath: Hashable, Sendable, ExpressibleByArrayLiteral {
  public init(arrayLiteral indexes: Int...) {}
}

public struct IndexSet: BidirectionalCollection, Sendable {
  public struct Index: Comparable, Sendable {
    public static func < (left: Index, right: Index) -> Bool { false }
  }
  public var startIndex: Index { Index() }
  public var endIndex: Index { Index() }
  public func index(after index: Index) -> Index { index }
  public func index(before index: Index) -> Index { index }
  public subscript(index: Index) -> Int { 0 }
}

public struct Locale: Sendable {
  public static var preferredLanguages: [String] { [] }
}

// MARK: - Errors

public protocol LocalizedError: Error {
  var errorDescription: String? { get }
  var failureReason: String? { get }
  var recoverySuggestion: String? { get }
  var helpAnchor: String? { get }
}

extension LocalizedError {
  public var errorDescription: String? { nil }
  public var failureReason: String? { nil }
  public var recoverySuggestion: String? { nil }
  public var helpAnchor: String? { nil }
}

// MARK: - Encoding

open class JSONEncoder {
  public struct OutputFormatting: OptionSet, Sendable {
    public static let withoutEscapingSlashes = OutputFormatting(rawValue: 8)
    public let rawValue: UInt
    public init(rawValue: UInt) { self.rawValue = rawValue }
  }
  open var outputFormatting: OutputFormatting = []
  public init() {}
  open func encode<Value: Encodable>(_ value: Value) throws -> Data { Data() }
}

open class JSONDecoder {
  public init() {}
  open func decode<Value: Decodable>(_ type: Value.Type, from data: Data) throws -> Value { fatalError() }
}

// MARK: - Files

public protocol NSObjectProtocol: AnyObject {}

open class NSObject: NSObjectProtocol {
  nonisolated public init() {}
}

public struct FileAttributeKey: Hashable, Sendable {
  public static let posixPermissions = FileAttributeKey()
}

open class FileManager: NSObject {
  open class var `default`: FileManager { fatalError() }
  open func fileExists(atPath path: String) -> Bool { false }
  open func removeItem(atPath path: String) throws {}
  open func moveItem(atPath path: String, toPath destination: String) throws {}
  open func createFile(
    atPath path: String,
    contents: Data?,
    attributes: [FileAttributeKey: Any]? = nil
  ) -> Bool { false }
}

open class FileHandle: NSObject {
  public convenience init(forWritingTo url: URL) throws { fatalError() }
  public func write(contentsOf data: some Sequence<UInt8>) throws {}
  public func synchronize() throws {}
  public func close() throws {}
}

// MARK: - Requests

public struct URL: Hashable, Codable, Sendable {
  public init?(string: String) {}
  public init(fileURLWithPath path: String) {}
  public var absoluteString: String { "" }
  public mutating func setResourceValues(_ values: URLResourceValues) throws {}
}

public struct URLQueryItem: Sendable {
  public let name: String
  public let value: String?
}

public struct URLComponents: Sendable {
  public init?(string: String) {}
  public var path: String { "" }
  public var queryItems: [URLQueryItem]? { nil }
}

public struct URLRequest: Sendable {
  public enum CachePolicy: Sendable { case reloadIgnoringLocalCacheData }
  public var httpMethod: String?
  public var timeoutInterval = 60.0
  public var httpBody: Data?
  public init(url: URL) {}
  public mutating func setValue(_ value: String?, forHTTPHeaderField field: String) {}
}

open class URLResponse: NSObject, @unchecked Sendable {}

open class HTTPURLResponse: URLResponse, @unchecked Sendable {
  open var statusCode: Int { 0 }
  open var allHeaderFields: [AnyHashable: Any] { [:] }
}

open class URLCache: NSObject {}

open class OperationQueue: NSObject {}

open class URLSessionConfiguration: NSObject, @unchecked Sendable {
  open class var ephemeral: URLSessionConfiguration { fatalError() }
  open var requestCachePolicy = URLRequest.CachePolicy.reloadIgnoringLocalCacheData
  open var urlCache: URLCache?
  open var httpShouldSetCookies = true
  open var httpMaximumConnectionsPerHost = 6
}

open class URLSessionTask: NSObject, @unchecked Sendable {
  open var taskIdentifier: Int { 0 }
  open func cancel() {}
  open func resume() {}
}

open class URLSessionDataTask: URLSessionTask, @unchecked Sendable {}

public protocol URLSessionDelegate: NSObjectProtocol, Sendable {}

// The requirements are optional in the SDK. Here, a signature that differs is an error.

public protocol URLSessionTaskDelegate: URLSessionDelegate {
  func urlSession(_ session: URLSession, task: URLSessionTask, didCompleteWithError error: (any Error)?)
}

public protocol URLSessionDataDelegate: URLSessionTaskDelegate {
  func urlSession(
    _ session: URLSession,
    dataTask: URLSessionDataTask,
    didReceive response: URLResponse,
    completionHandler: @escaping @Sendable (URLSession.ResponseDisposition) -> Void
  )
  func urlSession(_ session: URLSession, dataTask: URLSessionDataTask, didReceive data: Data)
}

open class URLSession: NSObject, @unchecked Sendable {
  public enum ResponseDisposition: Int, Sendable { case cancel, allow }
  public init(configuration: URLSessionConfiguration) {}
  public init(
    configuration: URLSessionConfiguration,
    delegate: (any URLSessionDelegate)?,
    delegateQueue: OperationQueue?
  ) {}
  open func invalidateAndCancel() {}
  open func dataTask(with request: URLRequest) -> URLSessionDataTask { fatalError() }
}

public struct URLResourceValues {
  public init() {}
  public var isExcludedFromBackup: Bool?
}

public struct UUID: Hashable, Sendable {
  public init() {}
  public var uuidString: String { "" }
}

extension Error {
  public var localizedDescription: String { "" }
}
