// The door of the catalogue: what is sold, to whom, over which routes, at what price.

export { buildCatalogue, DEFAULT_SETTINGS, DocumentBroken } from './build-catalogue.ts';
export { CatalogueHolder } from './catalogue-holder.ts';
export { checkFeatures, type PricedFeatures } from './check-features.ts';
export { comparePrices, type PriceComparison, type PriceDifference, type Retirement } from './compare-prices.ts';
export {
  type DocumentsDescription,
  describeDocuments,
  type ModelDescription,
  type ProviderDescription,
} from './describe-documents.ts';
export { describeSettings, type SettingDescription } from './describe-settings.ts';
export { DEFAULT_MAX_TOKENS, formatRate, readDecimalRate } from './document.ts';
export { explainPrice, type PriceExplanation, type PricePart } from './explain-price.ts';
export { type Fault, formatFault } from './fault.ts';
export { type FirstFamily, firstDocuments, firstFamilies, firstKinds } from './first-documents.ts';
export { matchesAnyPattern, matchesPattern } from './match-pattern.ts';
export type {
  Catalogue,
  Credential,
  Group,
  Model,
  ModelPrice,
  ProviderSettings,
  RateLimits,
  Rates,
  Route,
  Settings,
} from './model.ts';
export { type Buyer, credentialsFor } from './own-credentials.ts';
export { type Change, type Plan, type PlanOptions, planApply, type Removed } from './plan-apply.ts';
export {
  type CacheWrites,
  outputTokensAfter,
  outputTokensThatFit,
  priceMessage,
  priceRoute,
  priceWorstCase,
  rateRecord,
  type Speed,
  type WorstCase,
} from './price.ts';
export {
  allListedModels,
  type ListedModel,
  listedModels,
  type PriceList,
  priceLists,
} from './price-list/price-list.ts';
export { findPrivateAddress, findPrivateProviders } from './private-address.ts';
export { defaultBaseUrl } from './read-provider.ts';
export { credentialContext, resealDocument, type SealedCredential, sealedCredentials } from './reseal-document.ts';
export { type CallerScope, listOffers, type Offer, resolveModel, withOwnCredentials } from './resolve-model.ts';
export type { CatalogDocument, CatalogStore, DocumentKind } from './store.ts';
