// Views that people save: a page of the console with its filters, its time range and its grouping, under a name.

import type { AuditContext } from '../audit/audit.ts';

export interface SavedView {
  id: number;
  /** The account whose people may see it if it is shared; null: the installation. */
  accountId: number | null;
  /** The person, or the token or machine without one, who alone sees it unless it is shared. */
  owner: string;
  /** A path of the console. */
  page: string;
  name: string;
  /** The parameters of the address, as in a URL. */
  search: string;
  isShared: boolean;
  createdAtMs: number;
}

export type ViewOwner = Pick<SavedView, 'accountId' | 'owner'>;

export interface SavedViewStore {
  getSavedView(id: number): Promise<SavedView | null>;
  /** Those of the owner and those that others of the same account share, by id, after that one. */
  listSavedViews(page: ViewOwner & { after: number | null; limit: number }): Promise<SavedView[]>;
  /** The number of the owner's own. */
  countSavedViews(of: ViewOwner): Promise<number>;
  /** Creates or replaces it. */
  putSavedView(view: SavedView, auditContext: AuditContext): Promise<void>;
  deleteSavedView(id: number, auditContext: AuditContext): Promise<void>;
}
