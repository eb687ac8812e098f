// The one place on a node that knows which catalogue is the current one. Who asks keeps the
// snapshot that it got for as long as its message lasts.

import { buildCatalogue } from './build-catalogue.ts';
import type { Catalogue } from './model.ts';
import type { CatalogDocument } from './store.ts';

export class CatalogueHolder {
  readonly #open: (sealed: string, context: string) => string;
  #current: Catalogue;

  /** `open` unseals credentials. Throws DocumentBroken. */
  constructor(documents: readonly CatalogDocument[], open: (sealed: string, context: string) => string) {
    this.#open = open;
    this.#current = buildCatalogue(documents, open);
  }

  get current(): Catalogue {
    return this.#current;
  }

  /** Puts a snapshot of all documents in place of the current one. Throws DocumentBroken and then changes nothing. */
  swap(documents: readonly CatalogDocument[]): void {
    this.#current = buildCatalogue(documents, this.#open);
  }
}
