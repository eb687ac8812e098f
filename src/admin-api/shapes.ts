// The shapes of the admin API's answers, for clients written in TypeScript: types only, taken from the very
// schemas that the routes answer by.

import type { z } from '@hono/zod-openapi';
import type { accountSchema } from './account-json.ts';
import type { changeSchema } from './apply.ts';
import type { attentionListSchema, attentionSchema } from './attention-json.ts';
import type { auditSchema } from './audit.ts';
import type { catalogueSchema, listedModelSchema, settingSchema } from './catalogue.ts';
import type { creditSchema } from './credits.ts';
import type { errorSchema } from './define-route.ts';
import type { entrySchema } from './entry-json.ts';
import type { groupSchema } from './groups.ts';
import type { holdSchema } from './hold-json.ts';
import type { acceptedSchema, invitationSchema, signInSchema } from './invitations.ts';
import type { keySchema } from './key-json.ts';
import type { rotatedSchema, withSecret } from './keys.ts';
import type { meSchema } from './me.ts';
import type { metersSchema } from './meters-json.ts';
import type { modelSchema } from './models.ts';
import type { invitedSchema } from './people.ts';
import type { personSchema } from './person-json.ts';
import type { comparisonSchema, differenceSchema } from './price-differences.ts';
import type { priceSchema } from './price-json.ts';
import type { providerSchema, testSchema } from './providers.ts';
import type { refundSchema } from './refunds.ts';
import type { statementSchema } from './statement-json.ts';
import type { bucketSchema, timelineSchema } from './timeline-json.ts';
import type { tokenSchema } from './token-json.ts';
import type { receiptSchema, usageSchema } from './usage.ts';
import type { topSchema } from './usage-top.ts';
import type { totalSchema } from './usage-totals.ts';

export type AcceptedShape = z.infer<typeof acceptedSchema>;
export type AccountShape = z.infer<typeof accountSchema>;
export type AttentionListShape = z.infer<typeof attentionListSchema>;
export type AttentionShape = z.infer<typeof attentionSchema>;
export type AuditShape = z.infer<typeof auditSchema>;
export type CatalogueShape = z.infer<typeof catalogueSchema>;
export type CatalogChangeShape = z.infer<typeof changeSchema>;
export type CreatedKeyShape = z.infer<typeof withSecret>;
export type CreditShape = z.infer<typeof creditSchema>;
export type EntryShape = z.infer<typeof entrySchema>;
export type ErrorShape = z.infer<typeof errorSchema>;
export type GroupShape = z.infer<typeof groupSchema>;
export type HoldShape = z.infer<typeof holdSchema>;
export type InvitationShape = z.infer<typeof invitationSchema>;
export type InvitedPersonShape = z.infer<typeof invitedSchema>;
export type KeyShape = z.infer<typeof keySchema>;
export type ListedModelShape = z.infer<typeof listedModelSchema>;
export type MeShape = z.infer<typeof meSchema>;
export type MetersShape = z.infer<typeof metersSchema>;
export type ModelShape = z.infer<typeof modelSchema>;
export type PersonShape = z.infer<typeof personSchema>;
export type PriceComparisonShape = z.infer<typeof comparisonSchema>;
export type PriceDifferenceShape = z.infer<typeof differenceSchema>;
export type PriceShape = z.infer<typeof priceSchema>;
export type ProviderShape = z.infer<typeof providerSchema>;
export type ProviderTestShape = z.infer<typeof testSchema>;
export type ReceiptShape = z.infer<typeof receiptSchema>;
export type RefundShape = z.infer<typeof refundSchema>;
export type RotatedKeyShape = z.infer<typeof rotatedSchema>;
export type SettingShape = z.infer<typeof settingSchema>;
export type StatementShape = z.infer<typeof statementSchema>;
export type SignInShape = z.infer<typeof signInSchema>;
export type TokenShape = z.infer<typeof tokenSchema>;
export type UsageBucketShape = z.infer<typeof bucketSchema>;
export type UsageShape = z.infer<typeof usageSchema>;
export type UsageTimelineShape = z.infer<typeof timelineSchema>;
export type UsageTopShape = z.infer<typeof topSchema>;
export type UsageTotalShape = z.infer<typeof totalSchema>;

/** A page of a list. */
export interface PageShape<Row> {
  data: Row[];
  /** For the next page; null on the last. */
  next_cursor: string | null;
}
