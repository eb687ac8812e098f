// The door of the catalogue: what is sold, to whom, over which routes, at what price.

export type {
  Catalogue,
  Group,
  Model,
  ModelPrice,
  ProviderSettings,
  RateLimits,
  Rates,
  Route,
  Settings,
} from './model.ts';
export type { CatalogDocument, CatalogStore, DocumentKind } from './store.ts';
