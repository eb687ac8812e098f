// The door of SCIM 2.0 (RFC 7643, RFC 7644): its JSON, filters and operations as functions of values. Stores nothing.

export { groupCondition, userCondition } from './condition.ts';
export { type ScimType, scimErrorBody, scimFault } from './faults.ts';
export { groupJson, type ReadGroup, readGroup, readMembers } from './group.ts';
export { type GroupPatch, patchGroup, patchUser, readOperations } from './patch.ts';
export type { JsonMembers } from './read-members.ts';
export { memberOf } from './read-members.ts';
export { providerConfig, resourceTypes, schemas } from './schemas.ts';
export { everything, isSelected, readSelection, type Selection, selectAttributes } from './select-attributes.ts';
export { attributesJson, type ReadUser, readUser, shownNameOf, userJson } from './user.ts';
