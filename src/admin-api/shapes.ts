// Types of the admin API's responses for TypeScript clients, derived from the routes' schemas.

import type { z } from '@hono/zod-openapi';
import type { accountSchema } from './accounts.ts';
import type { agentSignInSchema, deviceCodeSchema } from './agent-sign-ins.ts';
import type { changeSchema } from './apply.ts';
import type { attentionListSchema, attentionSchema } from './attention.ts';
import type { auditSchema } from './audit.ts';
import type { autoRechargeSchema } from './auto-recharge.ts';
import type { batchDetails, batchSchema } from './batches.ts';
import type { budgetSchema } from './budgets.ts';
import type {
  catalogSchema,
  comparisonSchema,
  differenceSchema,
  groupSchema,
  listedModelSchema,
  modelSchema,
  settingSchema,
} from './catalog.ts';
import type { codeBatchSchema, codeSchema, createdCodeBatchSchema, redemptionSchema } from './codes.ts';
import type { consentSchema, termsSchema } from './consent.ts';
import type { creditSchema, refundSchema } from './credits.ts';
import type { deliverySchema, eventSchema, eventTypesSchema } from './deliveries.ts';
import type { destinationSchema, destinationWithSecret } from './destinations.ts';
import type { directoryGroupSchema } from './directory-groups.ts';
import type { entrySchema, holdSchema, statementSchema } from './entries.ts';
import type { exportRunSchema, exportSchema } from './export-schedules.ts';
import type { forecastSchema } from './forecast.ts';
import type { incidentListSchema, incidentSchema } from './incidents.ts';
import type { integrationSchema, integrationTestSchema } from './integrations.ts';
import type { acceptedSchema, invitationSchema, signInSchema } from './invitations.ts';
import type { importedSchema } from './invite-many.ts';
import type { keySchema, rotatedSchema, withSecret } from './keys.ts';
import type { changeSchema as marginChangeSchema, marginGroupSchema, marginSchema } from './margin.ts';
import type { paymentCheckSchema, paymentOptionsSchema, paymentSchema } from './payments.ts';
import type { invitedSchema, listedPersonSchema, personSchema } from './people.ts';
import type { accountPlanSchema, planSchema } from './plans.ts';
import type { canceledPriceSchema, plannedPriceSchema } from './price-changes.ts';
import type { billDetailsSchema, billSourceSchema, importSchema, providerBillSchema } from './provider-bills.ts';
import type { offersSchema, presetSchema, soldSchema } from './provider-models.ts';
import type { providerSchema, testSchema } from './providers.ts';
import type {
  landingSchema,
  publicIncidentSchema,
  publicModelSchema,
  publicModelsSchema,
  publicStatusSchema,
  termsTextSchema,
} from './public-pages.ts';
import type { refusalSchema, refusalTotalSchema, refusalTotalsSchema } from './refusals.ts';
import type { errorSchema } from './route.ts';
import type { routeHealthListSchema, routeHealthSchema } from './route-health.ts';
import type { savedViewSchema } from './saved-views.ts';
import type { searchSchema } from './search.ts';
import type { mailedSchema, signedUpSchema } from './sign-ups.ts';
import type { meSchema, tokenSchema } from './tokens.ts';
import type { unsubscribedSchema } from './unsubscribe.ts';
import type { metersSchema, receiptSchema, usageSchema } from './usage.ts';
import type { summarySchema } from './usage-summary.ts';
import type { bucketSchema, timelineSchema, topSchema, totalSchema } from './usage-totals.ts';

export type AcceptedShape = z.infer<typeof acceptedSchema>;
export type AccountPlanShape = z.infer<typeof accountPlanSchema>;
export type AccountShape = z.infer<typeof accountSchema>;
export type ForecastShape = z.infer<typeof forecastSchema>;
export type BatchShape = z.infer<typeof batchSchema>;
export type BatchDetailsShape = z.infer<typeof batchDetails>;
export type IncidentListShape = z.infer<typeof incidentListSchema>;
export type IncidentShape = z.infer<typeof incidentSchema>;
export type AttentionListShape = z.infer<typeof attentionListSchema>;
export type AttentionShape = z.infer<typeof attentionSchema>;
export type AuditShape = z.infer<typeof auditSchema>;
export type AutoRechargeShape = z.infer<typeof autoRechargeSchema>;
export type CatalogShape = z.infer<typeof catalogSchema>;
export type CatalogChangeShape = z.infer<typeof changeSchema>;
export type CodeBatchShape = z.infer<typeof codeBatchSchema>;
export type CodeShape = z.infer<typeof codeSchema>;
export type CreatedCodeBatchShape = z.infer<typeof createdCodeBatchSchema>;
export type CreatedDestinationShape = z.infer<typeof destinationWithSecret>;
export type CreatedKeyShape = z.infer<typeof withSecret>;
export type ConsentShape = z.infer<typeof consentSchema>;
export type CreditShape = z.infer<typeof creditSchema>;
export type DeliveryShape = z.infer<typeof deliverySchema>;
export type DestinationShape = z.infer<typeof destinationSchema>;
export type DirectoryGroupShape = z.infer<typeof directoryGroupSchema>;
export type SavedViewShape = z.infer<typeof savedViewSchema>;
export type EntryShape = z.infer<typeof entrySchema>;
export type ErrorShape = z.infer<typeof errorSchema>;
export type ExportRunShape = z.infer<typeof exportRunSchema>;
export type ExportShape = z.infer<typeof exportSchema>;
export type EventShape = z.infer<typeof eventSchema>;
export type EventTypeShape = z.infer<typeof eventTypesSchema>['data'][number];
export type GroupShape = z.infer<typeof groupSchema>;
export type HoldShape = z.infer<typeof holdSchema>;
export type ImportedPeopleShape = z.infer<typeof importedSchema>;
export type InvitationShape = z.infer<typeof invitationSchema>;
export type InvitedPersonShape = z.infer<typeof invitedSchema>;
export type KeyShape = z.infer<typeof keySchema>;
export type ListedModelShape = z.infer<typeof listedModelSchema>;
export type ListedPersonShape = z.infer<typeof listedPersonSchema>;
export type MailedShape = z.infer<typeof mailedSchema>;
export type MarginChangeShape = z.infer<typeof marginChangeSchema>;
export type MarginGroupShape = z.infer<typeof marginGroupSchema>;
export type MarginShape = z.infer<typeof marginSchema>;
export type MeShape = z.infer<typeof meSchema>;
export type MetersShape = z.infer<typeof metersSchema>;
export type ModelShape = z.infer<typeof modelSchema>;
export type PaymentCheckShape = z.infer<typeof paymentCheckSchema>;
export type PaymentOptionsShape = z.infer<typeof paymentOptionsSchema>;
export type PaymentShape = z.infer<typeof paymentSchema>;
export type PersonBudgetShape = z.infer<typeof budgetSchema>;
export type PersonShape = z.infer<typeof personSchema>;
export type PlanShape = z.infer<typeof planSchema>;
export type PriceComparisonShape = z.infer<typeof comparisonSchema>;
export type PriceDifferenceShape = z.infer<typeof differenceSchema>;
export type ProviderBillDetailsShape = z.infer<typeof billDetailsSchema>;
export type ProviderBillImportShape = z.infer<typeof importSchema>;
export type ProviderBillShape = z.infer<typeof providerBillSchema>;
export type ProviderBillSourceShape = z.infer<typeof billSourceSchema>;
export type CanceledPriceShape = z.infer<typeof canceledPriceSchema>;
export type PlannedPriceShape = z.infer<typeof plannedPriceSchema>;
export type IntegrationShape = z.infer<typeof integrationSchema>;
export type IntegrationTestShape = z.infer<typeof integrationTestSchema>;
export type OfferedModelsShape = z.infer<typeof offersSchema>;
export type ProviderPresetShape = z.infer<typeof presetSchema>;
export type SoldModelsShape = z.infer<typeof soldSchema>;
export type ProviderShape = z.infer<typeof providerSchema>;
export type ProviderTestShape = z.infer<typeof testSchema>;
export type LandingShape = z.infer<typeof landingSchema>;
export type PublicIncidentShape = z.infer<typeof publicIncidentSchema>;
export type PublicModelShape = z.infer<typeof publicModelSchema>;
export type PublicModelsShape = z.infer<typeof publicModelsSchema>;
export type PublicStatusShape = z.infer<typeof publicStatusSchema>;
export type ReceiptShape = z.infer<typeof receiptSchema>;
export type RedemptionShape = z.infer<typeof redemptionSchema>;
export type RefundShape = z.infer<typeof refundSchema>;
export type RefusalShape = z.infer<typeof refusalSchema>;
export type RefusalTotalShape = z.infer<typeof refusalTotalSchema>;
export type RefusalTotalsShape = z.infer<typeof refusalTotalsSchema>;
export type RouteHealthListShape = z.infer<typeof routeHealthListSchema>;
export type RouteHealthShape = z.infer<typeof routeHealthSchema>;
export type RotatedKeyShape = z.infer<typeof rotatedSchema>;
export type SearchShape = z.infer<typeof searchSchema>;
export type SettingShape = z.infer<typeof settingSchema>;
export type StatementShape = z.infer<typeof statementSchema>;
export type SignedUpShape = z.infer<typeof signedUpSchema>;
export type SignInShape = z.infer<typeof signInSchema>;
export type AgentSignInShape = z.infer<typeof agentSignInSchema>;
export type DeviceCodeShape = z.infer<typeof deviceCodeSchema>;
export type TermsShape = z.infer<typeof termsSchema>;
export type TermsTextShape = z.infer<typeof termsTextSchema>;
export type TokenShape = z.infer<typeof tokenSchema>;
export type UnsubscribedShape = z.infer<typeof unsubscribedSchema>;
export type UsageBucketShape = z.infer<typeof bucketSchema>;
export type UsageShape = z.infer<typeof usageSchema>;
export type UsageSummaryShape = z.infer<typeof summarySchema>;
export type UsageTimelineShape = z.infer<typeof timelineSchema>;
export type UsageTopShape = z.infer<typeof topSchema>;
export type UsageTotalShape = z.infer<typeof totalSchema>;

/** A page of a list. */
export interface PageShape<Row> {
  data: Row[];
  /** For the next page; null on the last. */
  next_cursor: string | null;
}
