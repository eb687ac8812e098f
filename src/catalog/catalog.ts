// The door of the catalog: models, groups, routes and prices.

export { type AppliedPolicy, groupsInPolicies, policyFor } from './agent-policy.ts';
export { type Auth, authInput, type TokenCloud, tokenHostFault } from './auth.ts';
export {
  type AuthHolder,
  type Auths,
  buildCatalog,
  CatalogHolder,
  DocumentBroken,
} from './build-catalog.ts';
export { comparePrices, type PriceDifference } from './compare-prices.ts';
export { describeDocuments } from './describe-documents.ts';
export { describeSettings } from './describe-settings.ts';
export {
  DEFAULT_MAX_TOKENS,
  formatRate,
  MESSAGES_KIND,
  PREFERENCES,
  ROUTE_PROTOCOLS,
  readMultiplier,
} from './document.ts';
export { type Fault, formatFault } from './fault.ts';
export { type FirstFamily, firstDocuments, firstFamilies, firstKinds } from './first-documents.ts';
export { installationOf, isPageUrl, landingOf, type Terms, termsOf } from './installation.ts';
export { type ListSource, listSourceOf, type ModelList, modelOf, patternOf, sameSource } from './listed-models.ts';
export { formatMarkUp, readMarkUp } from './mark-up.ts';
export type {
  AgentPolicy,
  Catalog,
  Credential,
  Group,
  Model,
  ModelPrice,
  PlanSettings,
  ProviderSettings,
  Rates,
  Route,
  TierPrice,
} from './model.ts';
export { cleanPassed, type Passthrough, passes } from './passthrough.ts';
export { type Plan, planApply } from './plan-apply.ts';
export { type PriceUpdate, planPriceUpdate } from './plan-price-update.ts';
export {
  explainPrice,
  hasTier,
  multipliedPrice,
  multipliedRates,
  outputTokensAfter,
  outputTokensThatFit,
  type PricePart,
  priceDearest,
  priceMessage,
  priceRoute,
  priceWorstCase,
  rateRecord,
  ratesWithoutMultiplier,
  tierOfRates,
  UNBILLED_RATES,
  unitCostsOf,
  type WorstCase,
} from './price.ts';
export { laterPrices } from './price-changes.ts';
export {
  findListed,
  includedPriceList,
  type ListedModel,
  type PriceList,
  priceListIn,
  readPriceList,
} from './price-list/price-list.ts';
export { type ProviderPreset, providerPresets } from './provider-presets.ts';
export {
  authTypesOfKind,
  batchNeedsOfKind,
  defaultBaseUrl,
  findPrivateAddress,
  findPrivateProviders,
  membersOfKind,
} from './read-provider.ts';
export { routesWithinResidency } from './residency.ts';
export {
  type CallerScope,
  checkFeatures,
  credentialsFor,
  groupUnder,
  listOffers,
  makesImages,
  matchesAnyPattern,
  matchesPattern,
  notFound,
  type Offer,
  offerOf,
  requireUnits,
  resolveModel,
  withOwnCredentials,
} from './resolve-model.ts';
export {
  cancelPrice,
  type PlannedPrices,
  type PriceRefusal,
  priceOfChange,
  readPrice,
  schedulePrice,
} from './schedule-price.ts';
export { listedOffers, offerFrom, type ProviderOffer, sellOffers } from './sell-offers.ts';
export { DEFAULT_SETTINGS, type Settings } from './settings.ts';
export type { CatalogDocument, CatalogStore, DocumentKind } from './store.ts';
export { credentialContext, resealDocument, sealedCredentials } from './store.ts';
export { imageRate, isUnitPriced, printUnitRates, UNIT_RATES } from './unit-price.ts';
export {
  emptied,
  type Hidden,
  type Hideable,
  hiddenFromAccounts,
  hideableOf,
  hideables,
  NOTHING_HIDDEN,
  withoutHidden,
} from './visibility.ts';
