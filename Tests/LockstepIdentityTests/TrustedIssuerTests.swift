import LockstepCryptography
import Testing

@testable import LockstepIdentity

@Suite("The option --identity", .timeLimit(.minutes(10)))
struct TrustedIssuerTests {
  private func error(_ texts: String...) -> TrustedIssuerError? {
    do throws(TrustedIssuerError) {
      _ = try TrustedIssuer.list(parsing: texts)
      return nil
    } catch {
      return error
    }
  }

  @Test("It names an issuer, its audiences, its keys and its algorithms")
  func parses() throws {
    let short = try TrustedIssuer(parsing: "issuer=https://a.example,audience=app")
    #expect(short.name == "https://a.example")
    #expect(short.audiences == ["app"])
    #expect(short.algorithms == Set(SignatureAlgorithm.allCases))
    #expect(short.keysURL == nil)
    let long = try TrustedIssuer(
      parsing:
        "audience=a=b,issuer=https://a.example/x/,algorithms=RS256+EdDSA,jwks=https://b.example:8443/k?v=1,audience=c"
    )
    #expect(long.name == "https://a.example/x/")
    #expect(long.audiences == ["a=b", "c"])
    #expect(long.algorithms == [.rs256, .edDSA])
    #expect(long.keysURL == "https://b.example:8443/k?v=1")
  }

  @Test("The discovery document has one slash before its path")
  func discoveryURL() throws {
    for issuer in ["https://a.example", "https://a.example/"] {
      let trusted = try TrustedIssuer(parsing: "issuer=\(issuer),audience=app")
      #expect(trusted.discoveryURL == "https://a.example/.well-known/openid-configuration")
    }
    let realm = try TrustedIssuer(parsing: "issuer=https://a.example/realms/x,audience=app")
    #expect(realm.discoveryURL == "https://a.example/realms/x/.well-known/openid-configuration")
  }

  @Test(
    "The settings of docs/identity.md are valid",
    arguments: [
      "issuer=https://securetoken.google.com/my-project,audience=my-project",
      "issuer=https://abcdefgh.supabase.co/auth/v1,audience=authenticated",
      "issuer=https://my-tenant.eu.auth0.com/,audience=https://state.example.com",
      "issuer=https://login.example.com/realms/my-realm,audience=state-server",
      "issuer=https://appleid.apple.com,audience=com.example.app,audience=com.example.web",
      "issuer=https://accounts.google.com,audience=1234-abc.apps.googleusercontent.com",
      "issuer=accounts.google.com,audience=1234-abc.apps.googleusercontent.com,jwks=https://www.googleapis.com/oauth2/v3/certs",
      "issuer=http://127.0.0.1:9000,audience=app", "issuer=http://localhost:9000/a,audience=app",
      "issuer=http://[::1]:9000,audience=app", "issuer=HTTPS://A.example,audience=app",
    ]
  )
  func validSettings(text: String) { #expect(error(text) == nil) }

  @Test("A mistake is a typed error with advice")
  func mistakes() {
    #expect(error("") == .unknownPart(""))
    #expect(error("issuer=https://a.example,audience=app,") == .unknownPart(""))
    #expect(error("https://a.example") == .unknownPart("https://a.example"))
    #expect(error("issuer=https://a.example,audience=app,secret=x") == .unknownPart("secret=x"))
    #expect(error("audience=app") == .missing("issuer"))
    #expect(error("issuer=https://a.example") == .missing("audience"))
    #expect(error("issuer=https://a.example,audience=") == .value("audience"))
    #expect(error("issuer=https://a.example,audience=my app") == .value("audience"))
    #expect(error("issuer=https://a.example,issuer=https://b.example,audience=app") == .repeated("issuer"))
    let keys = "jwks=https://a.example/k"
    #expect(error("issuer=https://a.example,audience=app,\(keys),\(keys)") == .repeated("jwks"))
    for algorithm in ["HS256", "none", "rs256", "RS512", "", "RS256+"] where !algorithm.isEmpty {
      let name = algorithm == "RS256+" ? "" : algorithm
      #expect(error("issuer=https://a.example,audience=app,algorithms=\(algorithm)") == .algorithm(name))
    }
    let option = "issuer=https://a.example,audience=app"
    #expect(error(option, "issuer=https://b.example,audience=app", option) == .issuerRepeated("https://a.example"))
  }

  @Test(
    "A URL from which keys would come without TLS is refused, except on this machine",
    arguments: [
      "http://a.example", "http://10.0.0.1", "http://127.0.0.1.a.example", "http://127.1", "http://localhost.a.example",
      "http://127.0.0.256", "http://127.0.0.1@a.example", "http://[::2]", "http://0.0.0.0", "http://2130706433",
      "http://a.example:80/127.0.0.1", "ftp://127.0.0.1", "file:///etc/passwd", "https://", "https:///x", "https://a b",
      "https://a.example#x", "https://user:word@a.example", "https://a.example:0", "https://a.example:65536",
      "https://a.example:x", "https://[::1", "https://é.example", "accounts.google.com", "https:a.example",
      "http://127.0.0.1\\@a.example",
    ]
  )
  func insecureURLs(url: String) {
    #expect(error("issuer=\(url),audience=app") != nil)
    #expect(error("issuer=https://a.example,audience=app,jwks=\(url)") != nil)
    if url.contains("://") { #expect(error("issuer=\(url),audience=app,jwks=https://a.example/keys") != nil) }
  }

  @Test("The descriptions of errors say what to do")
  func descriptions() {
    #expect(
      error("issuer=http://a.example,audience=app")?.description
        == "the URL in issuer= must begin with https://, because http is only for 127.0.0.1, [::1] and localhost"
    )
    #expect(
      error("issuer=https://a.example")?.description
        == "audience= is missing; without it, the server would accept tokens that the issuer made for other apps"
    )
    #expect(
      error("issuer=https://a.example,audience=app,algorithms=HS256")?.description
        == "there is no algorithm “HS256”; write one or more of RS256+PS256+ES256+EdDSA. Tokens with a shared secret "
        + "(HS256) are not supported: let the issuer sign with a key pair"
    )
  }
}
