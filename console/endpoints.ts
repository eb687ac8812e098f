// The endpoints that the console calls, with the shape of each answer: the admin API below /api/v1, and the sign-in
// below /console/auth. Callers name an endpoint and get its type.

import type {
  AcceptedShape,
  AccountPlanShape,
  AccountShape,
  AgentSignInShape,
  AttentionListShape,
  AuditShape,
  AutoRechargeShape,
  BatchDetailsShape,
  BatchShape,
  CanceledPriceShape,
  CatalogChangeShape,
  CatalogShape,
  CodeBatchShape,
  CodeShape,
  ConsentShape,
  CreatedCodeBatchShape,
  CreatedDestinationShape,
  CreatedKeyShape,
  CreditShape,
  DeliveryShape,
  DestinationShape,
  DeviceCodeShape,
  DirectoryGroupShape,
  EntryShape,
  EventShape,
  EventTypeShape,
  ExportRunShape,
  ExportShape,
  ForecastShape,
  GroupShape,
  HoldShape,
  ImportedPeopleShape,
  IncidentListShape,
  IntegrationShape,
  IntegrationTestShape,
  InvitationShape,
  InvitedPersonShape,
  KeyShape,
  LandingShape,
  ListedModelShape,
  ListedPersonShape,
  MailedShape,
  MarginShape,
  MeShape,
  ModelShape,
  OfferedModelsShape,
  PageShape,
  PaymentOptionsShape,
  PaymentShape,
  PersonBudgetShape,
  PersonShape,
  PlannedPriceShape,
  PlanShape,
  PriceComparisonShape,
  ProviderBillDetailsShape,
  ProviderBillImportShape,
  ProviderBillShape,
  ProviderBillSourceShape,
  ProviderPresetShape,
  ProviderShape,
  ProviderTestShape,
  PublicModelsShape,
  PublicStatusShape,
  ReceiptShape,
  RedemptionShape,
  RefundShape,
  RefusalShape,
  RefusalTotalsShape,
  RotatedKeyShape,
  RouteHealthListShape,
  SavedViewShape,
  SearchShape,
  SettingShape,
  SignedUpShape,
  SignInShape,
  SoldModelsShape,
  StatementShape,
  TermsTextShape,
  TokenShape,
  UnsubscribedShape,
  UsageShape,
  UsageSummaryShape,
  UsageTimelineShape,
  UsageTopShape,
  UsageTotalShape,
} from '../src/admin-api/shapes.ts';
import type { ApiDocument } from './features/reference/api-document.ts';

/** Usage totals by group; `groups` may exceed the number of rows. */
export interface UsageTotalsShape {
  data: UsageTotalShape[];
  groups: number;
  total: UsageTotalShape;
}

export type CreatedTokenShape = TokenShape & { token: string };

export interface Endpoints {
  'GET /accounts': PageShape<AccountShape>;
  'POST /accounts': AccountShape;
  'GET /accounts/{id}': AccountShape;
  'PATCH /accounts/{id}': AccountShape;
  'GET /accounts/{id}/auto-recharge': AutoRechargeShape;
  'PATCH /accounts/{id}/auto-recharge': AutoRechargeShape;
  'POST /accounts/{id}/credits': CreditShape;
  'GET /accounts/{id}/entries': PageShape<EntryShape>;
  'GET /accounts/{id}/holds': PageShape<HoldShape>;
  'GET /accounts/{id}/plan': AccountPlanShape;
  'PATCH /accounts/{id}/plan': AccountPlanShape;
  'POST /accounts/{id}/portal': { url: string };
  'POST /accounts/{id}/redemptions': RedemptionShape;
  'GET /accounts/{id}/statement': StatementShape;
  'POST /accounts/{id}/subscription': { url: string | null; plan: AccountPlanShape };
  'POST /accounts/{id}/subscription/cancel': AccountPlanShape;
  'POST /accounts/{id}/subscription/resume': AccountPlanShape;
  'POST /apply': { changes: CatalogChangeShape[] };
  'GET /attention': AttentionListShape;
  'GET /batches': PageShape<BatchShape>;
  'GET /batches/{id}': BatchDetailsShape;
  'POST /batches/{id}/cancel': BatchDetailsShape;
  'GET /incidents': IncidentListShape;
  'GET /accounts/{id}/forecast': ForecastShape;
  'GET /audit': PageShape<AuditShape>;
  'GET /catalogue': CatalogShape;
  'GET /views': PageShape<SavedViewShape>;
  'POST /views': SavedViewShape;
  'PATCH /views/{id}': SavedViewShape;
  'POST /views/{id}/delete': SavedViewShape;
  'GET /directory-groups': PageShape<DirectoryGroupShape>;
  'POST /directory-groups': DirectoryGroupShape;
  'GET /directory-groups/{id}': DirectoryGroupShape;
  'PATCH /directory-groups/{id}': DirectoryGroupShape;
  'GET /code-batches': PageShape<CodeBatchShape>;
  'POST /code-batches': CreatedCodeBatchShape;
  'GET /code-batches/{id}': CodeBatchShape;
  'PATCH /code-batches/{id}': CodeBatchShape;
  'GET /code-batches/{id}/codes': PageShape<CodeShape>;
  'GET /deliveries': PageShape<DeliveryShape>;
  'GET /deliveries/{id}': DeliveryShape;
  'POST /deliveries/{id}/redeliver': DeliveryShape;
  'GET /destinations': PageShape<DestinationShape>;
  'POST /destinations': CreatedDestinationShape;
  'GET /destinations/{id}': DestinationShape;
  'PATCH /destinations/{id}': DestinationShape;
  'POST /destinations/{id}/rotate': CreatedDestinationShape;
  'POST /destinations/{id}/test': DestinationShape;
  'GET /event-types': { data: EventTypeShape[] };
  'GET /events': PageShape<EventShape>;
  'GET /exports': PageShape<ExportShape>;
  'POST /exports': ExportShape;
  'GET /exports/{id}': ExportShape;
  'PATCH /exports/{id}': ExportShape;
  'GET /exports/{id}/runs': PageShape<ExportRunShape>;
  'POST /exports/{id}/run': ExportRunShape;
  'GET /groups': PageShape<GroupShape>;
  'POST /invitations/accept': AcceptedShape;
  'POST /invitations/show': InvitationShape;
  'GET /keys': PageShape<KeyShape>;
  'POST /keys': CreatedKeyShape;
  'GET /keys/{id}': KeyShape;
  'PATCH /keys/{id}': KeyShape;
  'POST /keys/{id}/revoke': KeyShape;
  'POST /keys/{id}/rotate': RotatedKeyShape;
  'GET /me': MeShape;
  'POST /me/consent': ConsentShape;
  'GET /models': PageShape<ModelShape>;
  'GET /models/differences': PriceComparisonShape;
  'GET /openapi.json': ApiDocument;
  'POST /password-resets': MailedShape;
  'POST /password-resets/accept': AcceptedShape;
  'GET /payment-options': PaymentOptionsShape;
  'GET /payments': PageShape<PaymentShape>;
  'POST /payments': PaymentShape;
  'GET /payments/{id}': PaymentShape;
  'GET /people': PageShape<ListedPersonShape>;
  'POST /people': InvitedPersonShape;
  'POST /people/import': ImportedPeopleShape;
  'GET /people/{id}': ListedPersonShape;
  'PATCH /people/{id}': PersonShape;
  'GET /people/{id}/budget': PersonBudgetShape;
  'PATCH /people/{id}/budget': PersonBudgetShape;
  'POST /people/{id}/budget/reset': PersonBudgetShape;
  'POST /people/{id}/link': InvitedPersonShape;
  'GET /plans': PageShape<PlanShape>;
  'GET /prices': { data: ListedModelShape[] };
  'GET /provider-bill-sources': PageShape<ProviderBillSourceShape>;
  'POST /provider-bill-sources': ProviderBillSourceShape;
  'POST /provider-bill-sources/{provider}/fetch': ProviderBillImportShape;
  'GET /provider-bills': PageShape<ProviderBillShape>;
  'GET /provider-bills/{id}': ProviderBillDetailsShape;
  'GET /public/landing': LandingShape;
  'GET /public/models': PublicModelsShape;
  'GET /public/status': PublicStatusShape;
  'GET /public/terms': TermsTextShape;
  'GET /providers': PageShape<ProviderShape>;
  'GET /providers/{name}': ProviderShape;
  'POST /providers/{name}/test': ProviderTestShape;
  'GET /providers/{name}/models': OfferedModelsShape;
  'POST /providers/{name}/models': SoldModelsShape;
  'GET /integrations': { data: IntegrationShape[] };
  'POST /integrations/{id}/test': IntegrationTestShape;
  'POST /price-changes': PlannedPriceShape;
  'POST /price-changes/cancel': CanceledPriceShape;
  'GET /provider-presets': { data: ProviderPresetShape[] };
  'GET /search': SearchShape;
  'GET /settings': { data: SettingShape[] };
  'GET /sign-in': SignInShape;
  'POST /sign-ups': MailedShape;
  'POST /sign-ups/accept': SignedUpShape;
  'GET /agent-sign-ins': PageShape<AgentSignInShape>;
  'POST /agent-sign-ins/{id}/revoke': AgentSignInShape;
  'GET /device-codes/{code}': DeviceCodeShape;
  'POST /device-codes/{code}/approve': AgentSignInShape;
  'POST /device-codes/{code}/deny': DeviceCodeShape;
  'GET /tokens': PageShape<TokenShape>;
  'POST /tokens': CreatedTokenShape;
  'GET /tokens/{id}': TokenShape;
  'POST /tokens/{id}/revoke': TokenShape;
  'POST /unsubscribe': UnsubscribedShape;
  'GET /routes/health': RouteHealthListShape;
  'GET /refusals': PageShape<RefusalShape>;
  'GET /refusals/totals': RefusalTotalsShape;
  'GET /usage': PageShape<UsageShape> & { searched_since: string | null };
  'GET /usage/{request_id}': ReceiptShape;
  'POST /usage/{request_id}/refunds': RefundShape;
  'GET /usage/margin': MarginShape;
  'GET /usage/summary': UsageSummaryShape;
  'GET /usage/timeline': UsageTimelineShape;
  'GET /usage/top': UsageTopShape;
  'GET /usage/totals': UsageTotalsShape;
}

export interface SessionShape {
  id: string;
  isCurrent: boolean;
  userAgent?: string | null;
  ipAddress?: string | null;
  createdAt: string;
  updatedAt: string;
  endsAt: string;
}

export interface SignInEndpoints {
  'POST /change-password': unknown;
  'GET /get-session': { user: { twoFactorEnabled?: boolean | null } } | null;
  'GET /list-sessions': SessionShape[];
  'POST /revoke-other-sessions': unknown;
  'POST /revoke-session': unknown;
  'POST /sign-in/email': { twoFactorRedirect?: boolean };
  'POST /sign-in/social': { url: string };
  'POST /sign-out': unknown;
  'POST /two-factor/disable': unknown;
  'POST /two-factor/enable': { totpURI: string; backupCodes: string[] };
  'POST /two-factor/generate-backup-codes': { backupCodes: string[] };
  'POST /two-factor/replace': { totpURI: string; backupCodes: string[] };
  'POST /two-factor/verify-backup-code': unknown;
  'POST /two-factor/verify-totp': unknown;
}

/** The paths of all GET endpoints of the admin API. */
export type GetPath = keyof Endpoints extends infer Name ? (Name extends `GET ${infer Path}` ? Path : never) : never;
export type AnswerOf<Path extends GetPath> = Endpoints[`GET ${Path}`];
/** The paths of all lists that are read page by page. */
export type ListPath = { [Path in GetPath]: AnswerOf<Path> extends PageShape<unknown> ? Path : never }[GetPath];
export type RowOf<Path extends ListPath> = AnswerOf<Path> extends PageShape<infer Row> ? Row : never;
