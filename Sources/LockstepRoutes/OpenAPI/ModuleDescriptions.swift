import LockstepCollections
import LockstepHTTP
import LockstepJSON

/// What is said of the routes of a module that the server was built with: like them, all of it follows from its declaration.
struct ModuleDescriptions {
  let module: UserModule
  /// What the last part of an element's address is called.
  let key: String

  private var described: DescribedModule { DescribedModule(module: module) }
  private var isList: Bool { module.kind == .list }
  private var name: RouteParameter { .element(key) }

  var whole: RouteDescription {
    .reading(
      "\(module.name).get",
      part: module.name,
      parameters: isList ? RouteParameter.pages : [.prefix],
      shows: described.state,
      fields: isList ? [.link] : [],
      schemas: described.schemas
    )
  }

  var element: RouteDescription {
    .reading("\(module.name).element", part: module.name, parameters: [name], shows: described.placedElement)
  }

  var actions: RouteDescription {
    .writing(
      "\(module.name).act",
      part: module.name,
      body: RouteBody(described.oneOrMore),
      answers: [.results],
      problems: [.notFound],
      schemas: .shared(SharedSchema.fact, SharedSchema.results, described.actionSchema)
    )
  }

  func verb(_ verb: ElementVerb, _ action: DeclaredVerb) -> RouteDescription {
    let called = "\(module.name).\(verb.rawValue)"
    guard verb != .delete else { return .removing(called, part: module.name, parameters: [name]) }
    let shown = described.placedElement
    return .writing(
      called,
      part: module.name,
      parameters: [name],
      body: body(action),
      answers: [
        .written(.created, "It wasn't there, and is now.", shows: shown), .written(.ok, "It was there.", shows: shown),
      ],
      problems: [.notFound]
    )
  }

  private func body(_ action: DeclaredVerb) -> RouteBody {
    guard isList else { return RouteBody(described.element) }
    let passedOver = action.passedOver.sorted()
    return RouteBody(described.body(of: action.type, without: key, passingOver: passedOver), isRequired: false)
  }
}
