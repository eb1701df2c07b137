/// The response of a server that wants to break the code that is made from its catalogue.
public let hostileCatalogue = PackageResources.hostile_catalogue_json
