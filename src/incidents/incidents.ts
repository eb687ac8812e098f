// The door of incidents: problems that have begun and not ended. Rules are pure; nothing is stored or read here.

export { IncidentReports, withEndings } from './announce.ts';
export { type Finding, followIncidents } from './follow.ts';
export {
  type AffectedAccount,
  facts,
  type Incident,
  type IncidentChange,
  type IncidentFacts,
  type IncidentKind,
  type IncidentStore,
  incidentKinds,
  mostAffectingFirst,
  type NewIncident,
  onePerProblem,
} from './incident.ts';
export { judgeRefusals } from './judge-refusals.ts';
export { judgeTraffic, type OfferedModel } from './judge-traffic.ts';
export { judgeUpkeep, type ModelMargin, UPKEEP_EVENTS, type Upkeep } from './judge-upkeep.ts';
