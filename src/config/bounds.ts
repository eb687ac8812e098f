// Every bound of the service. Each keeps one part from taking what others need.

/** Bounds. Units come last in the names. */
export const bounds = {
  // The socket and the body
  bodyBytesMax: 32 * 1024 * 1024,
  requestHeadSecondsMax: 12,
  uploadBytesPerSecondLeast: 16 * 1024,
  jsonDepthMax: 128,
  bodyBytesAtOnceMax: 1024 * 1024, // a longer body is read in steps, so that other requests are answered in between
  // JSON that is expensive to parse: parsing blocks the event loop, and each bound allows about 50 ms
  jsonValuesMax: 150_000,
  jsonNewKeysMax: 20_000, // keys in an order not seen in an earlier object; keys that begin with a digit always count
  jsonBareCharactersMax: 8 * 1024 * 1024, // outside strings
  jsonLongNumbersMax: 30_000, // with more digits than a double can hold
  jsonEscapedCharactersMax: 8 * 1024 * 1024, // in strings that contain an escape
  answerDepthMax: 1_000, // levels of a provider's JSON, far more than any tool input has
  messagesMax: 40_000,
  modelNameCharactersMax: 256,
  toolNameCharactersMax: 512, // providers take 64 or 128; longer ones are replaced, and put back in each call
  replacedPropertyCharactersMax: 256, // of a property name that is replaced for a provider; a longer one is refused
  streamIdleSecondsMax: 60,
  clientPausedSecondsMax: 3_600, // the total time that one stream waits for a client that reads slowly
  keepAliveIdleSecondsMax: 75, // longer than the 60 s of common load balancers, so that they close first
  forwardedHopsMax: 32,
  logBufferBytesMax: 4 * 1024 * 1024,
  adminBodyBytesMax: 8 * 1024 * 1024,
  tlsLookMs: 5_000,
  tlsFileBytesMax: 1024 * 1024,
  listenTriesMax: 20, // a tenth of a second apart, when the port must be opened again for a new certificate
  // Load: messages are shed before their body is read, by the settings `shed_…`
  unreadBodySecondsMax: 12, // how long a client may go on sending a body that is not read
  unreadBytesPerSecondMax: 128 * 1024 * 1024,
  loopDelaysSeen: 4, // shed only when the delay is in all of these samples, so that one stall sheds nothing
  // Forms with files, which are kept on disk while their request runs
  formFieldsMax: 100,
  formFieldBytesMax: 128 * 1024,
  formHeadersMax: 20, // of one part
  formHeaderBytesMax: 16 * 1024,
  formBytesMore: 8 * 1024 * 1024, // of a body, besides its files
  spooledBytesMax: 16 * 1024 * 1024 * 1024, // on disk, of all requests that run
  // Files of clients
  filePendingMsMax: 60 * 60 * 1000, // until a file that is still being stored counts as interrupted
  filePutMsMax: 30 * 60 * 1000,
  fileAnswerMsMax: 30_000, // of the place of files, until the beginning of a file, or its removal
  filePartBytes: 8 * 1024 * 1024, // of an upload to a store that speaks S3
  filesSweptMs: 60_000,
  filesSweptAtOnce: 100,
  fileIdsMax: 100, // in one message
  spokenAnswersMax: 100, // earlier spoken answers in one request
  spokenIdCharactersMax: 512, // of the id that a provider gives to a spoken answer
  fetchedFilesMax: 20, // web addresses in one message
  fetchedFileBytesMax: 20 * 1024 * 1024, // per file
  fetchedFilesMsMax: 15_000, // for all of them
  fetchedRedirectsMax: 3,
  // Batches, by Anthropic's limits: https://platform.claude.com/docs/en/build-with-claude/batch-processing (2026-11-30)
  batchRequestsMax: 100_000,
  batchBytesMax: 256 * 1024 * 1024,
  batchLifeMs: 24 * 60 * 60 * 1000, // until what was not sent expires
  batchResultsLifeMs: 29 * 24 * 60 * 60 * 1000,
  batchInputLifeMs: 3 * 24 * 60 * 60 * 1000, // of requests that are no file of the client, if the service does not remove them before
  batchItemBytesMore: 64 * 1024, // of a line besides its request
  batchesPerCompanyMax: 100, // that run
  batchesAtOnceMax: 1_000,
  batchModelsMax: 20, // whose names are shown
  batchItemsOpenMax: 64, // of a batch: in progress, waiting to be sent again, or not durable
  batchItemTriesMax: 3, // after failures of the provider; refusals that pass are not counted
  batchItemPauseMs: 1_000,
  batchItemPauseMsMax: 60_000,
  batchGroupsMax: 16, // groups of requests being gathered for providers, per batch
  batchPartTriesMax: 5,
  bedrockBatchRequestsMin: 100, // fewer are sent one by one: https://docs.aws.amazon.com/general/latest/gr/bedrock.html (2026-11-30)
  batchEchoedBytesMax: 4 * 1024 * 1024, // of one request in a job at a cloud, whose result repeats it
  bucketCharactersMax: 512,
  batchAnswersOpenMax: 16, // answers of a provider's batch being billed or stored at once
  batchStrayLinesMax: 1_000, // in the results of a provider, beyond one for each request
  batchPartPollMsMax: 60_000,
  batchCallMsMax: 5 * 60 * 1000, // for one call about a batch at its provider
  batchTransferMsMax: 60 * 60 * 1000, // the same, with the requests or the results of a batch
  batchGraceMs: 2 * 60 * 60 * 1000, // after its end, for a provider that cannot be reached
  batchRowsAtOnce: 1_000,
  batchResultsAtOnce: 50, // in memory when files are made of them
  batchAgainMs: 5_000, // after a failure of its run
  batchBusyMs: 250,
  batchesPollMs: 1_000,
  // Authentication
  cachedKeysMax: 50_000,
  cachedKeyCharactersMax: 64 * 1024 * 1024, // of the lists of all cached keys
  keyLookupsMax: 1_024,
  failedAuthenticationsPerMinuteMax: 60, // from one IPv4 address or /64 of IPv6
  failedAuthenticationsPerSiteMax: 600, // in a minute, from one /24 of IPv4 or /48 of IPv6
  failureAddressesMax: 10_000,
  selfServiceReadsPerKeyMax: 32,
  selfServiceReadsMax: 1_024,
  // Sign-in of coding agents
  deviceCodeLifeMs: 10 * 60 * 1000,
  devicePollMs: 5_000, // time between polls of a device; one that comes too early adds as much
  devicePollSlackMs: 1_000, // for timers and the network
  deviceCodesMax: 2_000, // that wait for approval, in all
  deviceCodesPerAddressMax: 30,
  deviceCodeWindowMs: 10 * 60 * 1000,
  userCodeTriesMax: 10, // by one person in the same time
  agentSignInsPerPersonMax: 20, // the oldest ends
  refreshRepeatMs: 120_000, // how long the former refresh token gets the same answer
  agentSignInsKeptMs: 90 * 24 * 60 * 60 * 1000, // after their end
  oauthBodyBytesMax: 16 * 1024,
  agentRequestMsMax: 30_000, // of the command `agent`
  telemetryRelayBytesMax: 4 * 1024 * 1024,
  telemetryJsonBytesMax: 1024 * 1024, // in JSON, which is parsed as a whole
  telemetryResourcesMax: 100, // per request; each gets the labels
  telemetryFieldsMax: 10_000, // read in a protobuf request, down to the attributes of resources
  telemetryRequestsPerMinuteMax: 600, // of one person at one node
  telemetryBytesPerMinuteMax: 32 * 1024 * 1024,
  telemetrySendersMax: 10_000,
  telemetryRelaysMax: 64,
  telemetryRelayMsMax: 10_000,
  // The ledger
  admissionWaitMsMax: 15_000, // for a store that neither answers nor fails
  ledgerQueueMax: 32_768,
  ledgerQueuePerAccountMax: 8_192,
  batchOperationsMax: 1_024,
  ledgerGatherFrom: 4, // when the last batch had this many bundles, the next is gathered for ledgerGatherMs
  ledgerGatherMs: 1,
  accountLevelsMax: 3, // accounts above one another, the lowest included
  accountsBelowMax: 200, // below one account, on all levels
  accountsBelowReadMax: 1_000, // more than accountsBelowMax only by changes at the same moment
  warnsAtMax: 10, // thresholds of limits
  accountChainMax: 8, // more than that only by changes at the same moment
  cachedLedgerRowsMax: 100_000,
  holdUnwrittenMs: 1_000, // a younger hold exists in memory only (SQLite)
  ledgerWriteMs: 250, // between writes of what need not be durable at once
  rememberedRefusalsMax: 10_000,
  idempotencyKeptMs: 24 * 60 * 60 * 1000,
  failedAttemptsReversedMax: 32, // under one idempotency record, by the response that follows them
  answerBytesMax: 8 * 1024 * 1024, // a longer response is not stored for retries
  answersCollectedBytesMax: 128 * 1024 * 1024, // in memory, of all messages that run or are replayed
  answersStoredBytesMax: 1024 * 1024 * 1024,
  answerDropsMax: 100, // statements after one batch of PostgreSQL, each of rowsDroppedAtOnce: more than one large response needs
  replayPieceCharactersLeast: 64 * 1024, // in one piece of a replayed stream
  replayedBytesPerMinuteMax: 64 * 1024 * 1024, // per account and node; the first replay of each response is not counted
  replayedResponsesMax: 20_000, // whose first replay is remembered
  replayAccountsMax: 10_000,
  doubtfulAdmissionsMax: 40_000, // includes those that wait, so more than the number that may wait
  refusalRememberedMs: 1_000,
  refusalBehindOthersRememberedMs: 100,
  leaseMs: 15_000,
  holdEndMsMax: 3 * 60_000, // within which running nodes end holds of ended nodes, and lost ones of their own
  lostHoldsLookMs: 60_000, // a hold without a message in two looks is ended
  leaseRenewMs: 5_000,
  leaseRenewAgainMs: 500, // after a failed renewal
  nanoPerMessageMax: 1_000_000_000_000_000, // one message holds or costs at most a million dollars
  // Usage
  documentInflatedBytesMax: 32 * 1024 * 1024, // all documents of a request together; beyond it they count as unreadable
  documentCharactersMax: 16 * 1024 * 1024, // texts of documents, when counted after the end
  documentStepsMax: 2_000_000, // values read, objects visited and units of 64 bytes: about a second of work, in short steps
  documentTextBytesMax: 1024 * 1024, // one string, or the data of a filter that is decoded in one step
  documentNamesMax: 10_000, // forms that one content stream draws
  documentDepthMax: 64, // nested values, page trees and forms
  uncountedPromptBytesMax: 256 * 1024 * 1024, // requests kept in memory whose provider counts the prompt only at the end
  unreadStreamsMax: 1_024, // streams without a client, read to the end because only the end gives their cost
  countersKnownMax: 1_000, // providers
  correctionsMax: 256, // messages billed by the upper bound whose count is still tried, all accounts together
  recountPausesMs: [500, 1_000, 2_000, 4_000, 8_000, 15_000, 30_000], // while the hold stays, then the upper bound is billed
  correctionPausesMs: [60_000, 120_000, 240_000, 480_000], // until a bill by the upper bound is corrected
  countAfterEndMsMax: 5_000, // by a provider, before the tokenizer counts
  transcriptBytesMax: 512 * 1024, // of the text of an answer that is kept for a count
  usageTokensMax: 10_000_000, // a count above any context window is rejected
  usageIterationsMax: 1_000, // of one message; a longer list is rejected
  sampledModelsSavedMax: 50, // in one transaction
  samplesSaveMs: 30_000,
  samplesLastSaveMsMax: 2_000, // at the end of the process
  changesPollMs: 250, // how often a node reads the changes of other nodes
  changesSilenceMsMax: 750, // without a response, before a node drops its caches,
  changesDeafMs: 2_000, // and before it is not ready for messages
  holdChecksFailedMax: 8, // in a row, before a stream is stopped
  changeAppliesMax: 8, // attempts to apply a change of another node before it is passed over
  changesStatementMsMax: 2_000, // before the statement is given up; dropping caches does not wait for it
  changesKeptMs: 60 * 60 * 1000, // a node that was unavailable for longer drops its caches
  startWaitMsMax: 60_000, // for another node that creates the first account and catalog
  sampledModelsMax: 1_000, // whose estimators are kept; the oldest are dropped
  sampledAccountsMax: 4_096, // over all models, 4 KB each; an account with more than its share loses its least recent ones
  sampledAccountsStoredMax: 64, // per model; only these are stored and used for estimates: 150 KB
  // Upstream
  upstreamBytesAtOnceMax: 256 * 1024, // of a stream; the rest of a longer chunk is read in later turns
  upstreamEventBytesMax: 16 * 1024 * 1024,
  toolInputCharactersMax: 4 * 1024 * 1024, // of all calls of one answer that is converted
  upstreamFrameBytesMax: 24 * 1024 * 1024, // one frame of Bedrock's event stream, with its payload in base64
  upstreamFrameHeaderBytesMax: 128 * 1024,
  upstreamBodyBytesMax: 32 * 1024 * 1024,
  rerankDocumentsMax: 1_000, // as Cohere recommends; vendors' own limits are higher
  moderationInputsMax: 1_000,
  upstreamVectorsBytesMax: 64 * 1024 * 1024, // of an answer with embeddings, which is read a few vectors at a time
  imagesPerRequestMax: 10, // as at OpenAI
  speechCharactersMax: 100_000, // OpenAI has 4,096, and servers for whole books have more
  editedImagesMax: 16, // of one request, as at OpenAI
  inlineImagesBytesMax: 20 * 1024 * 1024, // of images that Gemini's models edit
  imageFileBytesMax: 50 * 1024 * 1024, // of an image that is edited, as at OpenAI
  soundSecondsMax: 24 * 60 * 60, // of sound that is transcribed
  upstreamImagesBytesMax: 64 * 1024 * 1024, // of an answer with images
  upstreamErrorBytesMax: 64 * 1024,
  unusableAnswerBytesMax: 64 * 1024 * 1024, // of a stream that is read on for its counts alone
  attemptsMax: 8,
  attemptReasonCharactersMax: 200,
  leftOutFieldsMax: 16, // names of a request's fields in a line of the log
  leftOutCharactersMax: 64, // of each name
  leftOutNoticesMax: 256, // sets of such names that are noticed in a minute
  recordedErrorCharactersMax: 200, // length of an error message in a usage record
  circuitOpenMs: 5_000, // the first time; doubled each time that the probe fails
  circuitOpenMsMax: 60_000,
  credentialCooldownMsMax: 60 * 60 * 1000, // whatever the provider's retry-after says
  cooldownProbesMax: 16, // consecutive failed probes during a cooldown before probing pauses
  cooldownProbeMs: 1_000, // the first pause; doubled each time
  firstTokenDecayMs: 120_000, // time constant of the mean that models with `prefer: latency` compare
  firstTokenGrowthMax: 3, // a longer time than so many means counts as that: one long prompt says little
  firstTokenTrialMs: 10_000, // in which one stream at most is sent to a target only to measure it
  routeTargetsMax: 5_000, // a target is a model at a provider with one credential; their health is kept
  conversationsRememberedMax: 20_000, // with a fair share for each account
  conversationNameCharactersMax: 4_096, // of a session name, and of a message that identifies a conversation
  countTokensSecondsMax: 10, // over all routes, before the count is estimated
  promptCountSecondsMax: 5, // before a message is refused whose estimate cannot be paid
  promptCountsMax: 64, // at the same time
  // The tokenizer's thread
  tokenizerCountsMax: 1_024, // at the same time, with a fair share for each account
  tokenizerCharactersMax: 64 * 1024 * 1024, // of their texts, with a fair share for each account
  tokenizerWaitMsMax: 30_000, // for one count
  tokenizerSliceCharactersMax: 16 * 1024, // counted without interruption: at most 0.05 s
  tokenizerSliceTextsMax: 1_024,
  tokenizerSliceMsMax: 15_000, // also for the start of the thread; afterwards it is replaced
  tokenizerPieceCharactersMax: 128, // longer words and other runs are cut: merging takes quadratic time
  tokenizerCachedPiecesMax: 1_024, // pieces whose tokens are known
  tokenizerIdleMs: 5 * 60 * 1000, // after one to two of these without a count the thread ends
  tokenizerRestartMs: 1_000, // after the thread failed to start
  unsuccessfulPromptCountsPerMinuteMax: 20, // of one account, for messages that were then refused
  promptCountAccountsMax: 10_000,
  holdWaitMsMax: 4_000, // how long an admission waits for uncounted prompts of the same account
  waitingForHoldsPerAccountMax: 128,
  rechargeWaitMsMax: 30_000, // how long a message waits for an automatic recharge
  rechargeWaitingMax: 4_096, // messages that wait on one node, with a fair share for each account
  rechargeWaitingPerAccountMax: 256,
  rechargeAsksMax: 8, // admission requests of one message that waits
  rechargesAtOnceMax: 256, // recharges in progress on one node, one per account
  rechargeTriesMax: 5, // tries to store a recharge while other nodes change the same account
  rechargePollMs: 250, // interval at which a recharge of another node is checked
  rechargeCheckMs: 60_000, // a recharge that is pending for longer is checked at Stripe, and messages no longer wait for it
  rechargeFailuresMax: 3, // consecutive failures that switch automatic recharges off
  rechargeFailedRestMs: 10 * 60 * 1000, // pause after a failed recharge
  rechargeRestMs: 15_000, // pause before a node checks again an account that cannot be recharged
  rechargeErrorRestMs: 2_000,
  rechargeRestsMax: 10_000,
  rechargeCloseMsMax: 3_000,
  schemaDepthMax: 24, // levels of a tool's schema that is converted; a deeper part becomes an unconstrained object
  schemaNodesMax: 5_000,
  requestSchemaNodesMax: 50_000, // parts in all tools of one request; a reference repeats the part that it names
  sandboxScriptCharactersMax: 64 * 1024,
  sandboxSchemaStepsMax: 20_000, // schemas, members and characters, to make one value of a schema
  sandboxSchemaDepthMax: 64, // levels of values and of alternatives
  providerCredentialsMax: 100,
  residenciesMax: 32, // names in `residency` of one provider or group
  authCharactersMax: 2_048, // in one member of `auth`
  credentialLoadMsMax: 8_000, // less than the test of a provider, which then tells the reason
  credentialAbortMsMax: 500, // until a reading that was aborted has told its reason
  credentialAheadMs: 5 * 60_000, // before it expires, a credential is read again
  credentialReloadMsLeast: 5_000, // between two readings of a credential
  credentialRetryMsMax: 60_000,
  credentialWaitMsMax: 24 * 60 * 60_000, // until it is read again, whenever it expires
  credentialFileLookMs: 5_000,
  credentialRereadMs: 5 * 60_000, // between two readings of a secret manager, or of an identity without an expiry
  credentialBytesMax: 64 * 1024, // size of a credential file, or of a secret manager's response
  credentialCauseCharactersMax: 300, // length of a failure's reason as operators see it
  providerProbeMsMax: 10_000,
  providerTestMsMax: 30_000, // of all its credentials: afterwards no further one is probed
  providerProbeCharactersMax: 500,
  modelListMsMax: 10_000, // to read a provider's list of models
  modelListAgeMsMax: 60_000, // before it is read again while its models are used
  modelListGapMs: 2_000, // between two readings, however many unknown names are requested
  modelListNamesMax: 2_000, // of one provider; further ones are ignored
  listedModelsMax: 5_000, // models of all entries with "*"
  // Streams to the client
  firstEventWaitMs: 20_000,
  pingIntervalMs: 15_000,
  responseOutputCharactersMax: 8 * 1024 * 1024, // limit of a stream of Responses, which repeats its output at the end
  responseSettingsCharactersMax: 512 * 1024, // settings of a request to Responses; a stream repeats them three times
  reasoningDetailsCharactersMax: 1024 * 1024, // kept of one stream until its end; longer details are not repeated
  // Listings and reports
  pageItemsMax: 1_000,
  reportQueueMax: 512,
  reportQueuePerAskerMax: 128,
  reportWaitMsMax: 30_000,
  reportRetryMs: 2_000,
  reportCharactersPerMs: 8_000, // how fast answers may come: the main thread still has to write them out
  unreadableRowsReportedMax: 1_000, // stored rows that cannot be read, each logged once
  unreadableRowsPassedMax: 1_000, // rows that a page passes over because they cannot be read
  rowsAtOnce: 100, // that are read or written without a pause
  statementsPreparedMax: 200, // prepared statements of a connection to SQLite whose texts vary
  rowsDroppedAtOnce: 200, // in one transaction, during which messages wait
  dropRestMs: 100, // between two of them: a shorter pause copies the log so often that messages slow down
  rolledDaysReadMax: 10_000, // for one report
  rolledUpAfterMs: 30 * 60 * 60 * 1000, // after the start of a day, when PostgreSQL allows it: its coarser totals
  dropEveryMs: 60 * 60 * 1000,
  dropAgainMs: 60_000, // when an expired month was in use
  endedSecretKeptMs: 30 * 24 * 60 * 60 * 1000, // until then a client with a replaced secret gets an error that says so
  paymentEventKeptMs: 90 * 24 * 60 * 60 * 1000, // Stripe retries for days; an older event is read again without effect
  reportKeysMax: 5_000, // of one creator, whose usage is listed together
  reportKeysAtOnce: 500, // of those, in one statement of PostgreSQL
  totalsRunRows: 50_000, // daily totals that one statement of SQLite adds up
  taggedRunRows: 25_000, // as above, by sets of tags, which SQLite sorts
  totalsRunRowsOfPostgres: 500_000, // as above, where no statement delays the ledger
  tagAccountsReadMax: 50, // accounts with a tag whose totals are read one by one, instead of those of all
  totalsStretchMs: 24, // without a pause
  totalsRestMs: 5, // longer than a commit of the ledger
  totalsRowsMax: 2_000_000, // in one report
  unitTotalsRowsMax: 500_000, // totals of units in one report: it does not show units if there are more
  topReadMsMax: 400, // days whose totals were not read by then are not counted by top usage
  topRowsLeast: 200_000, // that it counts in any case
  marginGroupsMax: 50_000,
  marginPartsMax: 5, // shown of an effect
  marginGroupHistoriesMax: 50, // other groups have no multiplier of their own in a margin's changes
  marginGroupChangesMax: 200,
  statementRowsMax: 500_000, // daily totals, and entries other than usage, that one account's statement adds up
  statementMessagesMax: 50_000, // in a month, for which a statement adds up what the balance paid each day
  statementEntriesMax: 100,
  statementGroupsMax: 100, // models, and keys, that it shows
  attentionDays: 7, // whose totals determine the highest usage
  attentionBusiestMax: 200, // accounts, and keys, that are examined
  attentionDaysLeft: 3, // of money, below which an account is listed
  attentionQuotaShare: 0.9, // used share of a quota, from which a key is listed
  timelineBucketsMax: 400,
  timelineRecordsMax: 300_000, // that one timeline sums up; older ones are not counted
  timelineRunRows: 5_000, // in one statement
  timelineCutRecordsMax: 100_000, // per outcome other than completion, and per key when keys are named
  timelineCutRecordsOfModelMax: 5_000, // as above, when the records themselves are read
  timelineSampledMax: 6_000, // records per timeline from which the time to the first token is estimated
  timelineSlicesMax: 1_200, // places in the list from which they are taken
  timelineReadMsMax: 600, // records that were not read by then are not counted
  sortedRowsMax: 200_000, // accounts or keys that one statement sorts without an index
  accountsSearchedMax: 20_000, // that one page of a search by name or group reads
  recordsOfKeyLeast: 10, // when a list has the records of many keys
  usageSearchedMax: 100_000, // records that one page of a search, or a ranking, reads
  usageSearchedAtOnce: 5_000,
  recordsReadFirst: 1_000, // in the first part of a search, ranking or sum, whose time is not known yet
  recordsReadLeast: 200, // in a part of one, however long the one before took
  usageSearchMsMax: 350, // time limit of a search, ranking or summary; a page runs two of them
  summaryRecordsMax: 300_000, // records that one summary adds up; older ones are not counted
  summaryRunRows: 10_000, // in one statement
  summaryBucketsMax: 100,
  // Attribution
  tagNameCharactersMax: 32,
  tagValueCharactersMax: 64,
  tagsSentMax: 10, // in a request's header
  tagHeaderCharactersMax: 1_024,
  tagsFixedMax: 8, // of an account, a person or a key
  tagNamesMax: 8, // in a list of names, such as those that are required
  sessionCharactersMax: 128, // of a session, an agent or an end user, whose rest is cut off
  namedCharactersMax: 4_096, // of a field or a header with JSON that names them; a longer one names nothing
  tagSetsPerMonthMax: 2_000, // of an account, which daily totals distinguish; twice as many with those by fixed tags alone
  tagMetricValuesMax: 100, // values of a tag that have a series of their own
  tagSetsCachedMax: 50_000,
  tagSetsFoundAtOnceMax: 1_000, // messages beyond are counted as others
  tagSetsRefusedMax: 10_000, // accounts without money, whose new sets are not stored
  tagRowsPerDayMax: 5_000, // rows of daily totals with tags, by key, model and set, of a company on one node
  tagRowsCachedMax: 200_000,
  // Counts of refused requests and of attempts at routes
  refusalMessageCharactersMax: 240, // length of the stored message of a refused request
  refusalRowsPerMinuteMax: 1_000, // counts that one node keeps per minute; further refusals are counted by code only
  refusalRowsPerAccountMax: 30, // counts per minute of one account; its further refusals are counted without a key
  refusalRowsWaitingMax: 5_000, // while the store is unavailable, a few minutes of a flood
  trafficWriteMs: 5_000, // a crash loses what was counted in this time
  trafficRowsAtOnce: 50, // in one transaction, during which messages wait: about a millisecond
  trafficLastWriteMsMax: 2_000, // at a stop
  refusalsKeptMs: 30 * 24 * 60 * 60 * 1000,
  refusalRowsKeptMax: 500_000, // about 150 MB; the oldest are dropped earlier, hourly
  refusalRunRows: 50_000, // counts that one statement adds up
  rejectedWatchedMs: 5 * 60 * 1000, // window of the event for frequent refusals
  rejectedNoticeLeast: 100, // refusals per window: an application that repeats a mistake, not a person
  rejectedNoticesPerHourMax: 20, // accounts with an event; bounds the outbox against many accounts of one attacker
  rejectedReadMax: 1_000,
  rejectedEveryMs: 60_000,
  routesCountedMax: 5_000, // routes counted per hour, as many as targets with a known health
  routeJudgedMs: 10 * 60 * 1000, // the latest attempts that decide the health of a route, and
  routeJudgedAttempts: 20, // as many before them, up to a day back, as this number needs
  routeJudgedLeast: 5, // attempts that a route needs before it can be down by their share
  routeDeadLeast: 3, // attempts without an answer after which a route is down
  routeDownShare: 0.5, // a route with a lower share of successful attempts is down
  routeDegradedShare: 0.95, // a route with a lower share is degraded: users notice one failure in twenty
  routeHealthSeenMs: 24 * 60 * 60 * 1000,
  routeHoursKeptMs: 2 * 24 * 60 * 60 * 1000,
  routeHoursReadMax: 100_000, // of the last day: a few hundred routes on a few nodes
  // Incidents
  incidentsEveryMs: 15_000,
  incidentsOpenMax: 500,
  incidentQuietMs: 10 * 60 * 1000, // an incident ends when its problem was not seen for so long
  incidentSeenEveryMs: 60_000, // an open one is stored as often, even if its figures stay
  incidentFailedLeast: 3, // attempts or messages that failed, for one to begin
  incidentBeginShare: 0.8, // answered share below which one begins; it goes on until the share is routeDegradedShare
  incidentWatchedMs: 15 * 60 * 1000, // in which refused requests are counted
  incidentRefusedLeast: 3, // requests that are refused until somebody changes something
  incidentLimitedLeast: 50, // requests that a limit refuses, which may pass later
  incidentRejectedLeast: 100, // other requests: an application that repeats a mistake
  incidentEventMs: 26 * 60 * 60 * 1000, // a failure that is reported daily goes on for so long
  incidentEventsRead: 200,
  incidentDestinationsRead: 1_000,
  incidentMailTriesLeast: 2, // of one mail, before mail is failing
  incidentCountedMax: 50, // open ones of accounts whose requests are counted
  incidentCountEveryMs: 60_000,
  incidentAccountsShown: 20,
  incidentReportsPerHourMax: 100, // events of incidents that begin; an end is reported if the beginning was
  incidentLossLeast: 10_000_000, // nanodollars that a model loses in two days: 0.01 USD
  incidentMarginDays: 2,
  incidentMarginEveryMs: 5 * 60 * 1000,
  priceListKeptMs: 90 * 24 * 60 * 60 * 1000, // a list is outdated after it
  incidentsEndedShown: 200, // of those that ended in
  incidentsEndedShownMs: 30 * 24 * 60 * 60 * 1000,
  // Read connections to PostgreSQL
  readConnections: 4,
  readStatementMsMax: 5_000,
  readsWaitingMax: 1_024,
  readRestMs: 1_000, // after which an idle connection is tested
  reportConnections: 2,
  reportStatementMsMax: 20_000,
  snapshotStatementMsMax: 60 * 60 * 1000, // for a check of all rows
  storeConnectSecondsMax: 3,
  storeSilenceMsMax: 1_000, // beyond the server's own limit, before a silent connection is given up
  // Write connections to PostgreSQL: the server gives up before the node does
  batchTriesMax: 5,
  writeLockMsMax: 3_000,
  lockedTryMsMax: 200, // for an account that is locked elsewhere; the lane's other accounts wait as long
  lockedWaitMsMax: 10_000, // set aside, before its bundles are given up; with the first try, less than an admission waits
  writeStatementMsMax: 5_000,
  writeIdleMsMax: 2_000, // in a transaction
  writeCallerCheckMs: 1_000,
  writeUnacknowledgedMsMax: 5_000,
  writeRoundTripMsMax: 6_000,
  writeEndMsMax: 3_000, // for an abandoned session to end
  commitOutcomeWaitMsMax: 10_000, // until it is known whether a commit without a response took effect
  holdsExpiredAtOnce: 500,
  databaseRestMs: 500, // between two attempts to use a database, growing to
  databaseRestMsMax: 5_000,
  // PostgreSQL's tables
  migrationWaitMsMax: 60_000, // for another node that migrates
  migrationLockMsMax: 200, // less than PostgreSQL waits before it ends a deadlock, which could fail a message of another node
  migrationTriesMax: 130,
  migrationRestMs: 500, // between two tries
  usageMonthsAhead: 2,
  rightsListedMax: 5, // that a message names
  lapsedLeaseKeptMs: 24 * 60 * 60 * 1000, // how long the expired lease of a node without open holds is kept
  // A move to PostgreSQL
  movedRowsAtOnce: 2_000,
  movedCharactersAtOnce: 4 * 1024 * 1024, // beyond which a piece gets no further row
  moveStatementMsMax: 2 * 60 * 1000, // for one piece
  moveWaitMsMax: 5_000, // for the session of a killed move to end
  moveIdleMsMax: 60_000, // in its transaction
  moveUnacknowledgedMsMax: 30_000, // of sent data, and between checks of the connection
  // The doctor
  doctorCheckBytesMax: 256 * 1024 * 1024, // a larger database takes too long to verify
  doctorFilesMax: 1_000,
  doctorAnswerWaitMs: 5_000,
  diskFreeBytesLow: 1024 * 1024 * 1024,
  diskFreeBytesLeast: 128 * 1024 * 1024,
  clockBehindMsMax: 2_000,
  certificateWarningMs: 21 * 24 * 60 * 60 * 1000,
  priceChangesMax: 32, // limit for each price and each cost
  integrationTestMsMax: 20_000,
  integrationTestsMax: 10, // of each integration within the window
  integrationTestsWindowMs: 10 * 60_000,
  integrationTargetsMax: 20, // exports whose storage one test reaches
  integrationAnswerBytesMax: 64 * 1024,
  priceEffectMs: 7 * 86_400_000, // the messages that the effect of a scheduled price covers
  priceEffectRecordsMax: 50_000, // older ones are not priced again
  priceEffectReadMsMax: 3_000,
  priceListModelsMax: 5_000,
  priceListBytesMax: 4 * 1024 * 1024,
  priceListWaitMs: 30_000, // for a list at a URL, and for its signature
  priceListAgeMsMax: 45 * 24 * 60 * 60 * 1000, // afterwards the doctor warns
  retirementWarningMs: 30 * 24 * 60 * 60 * 1000,
  // People who sign in
  passwordCharactersLeast: 10,
  passwordCharactersMax: 128,
  passwordStrengthGuessesLeast: 100_000_000, // that a guessing program needs, by estimate, for a password that may be set
  passwordCharactersEstimated: 64, // the rest is ignored: the estimate of these takes up to 0.2 s
  passwordOwnWordsMax: 60, // words taken from the names and emails of the person and the installation
  passwordChecksMax: 20, // for one person in passwordGuessesWindowMs
  passwordsHashedAtOnce: 2, // each takes 19 MiB
  passwordsWaitingMax: 64,
  sessionMs: 7 * 24 * 60 * 60 * 1000,
  sessionRefreshMs: 24 * 60 * 60 * 1000, // after which a session in use is extended
  signInWindowMs: 60_000,
  signInsPerAddressMax: 10, // in one window; guesses of passwords and of second factors are counted separately
  signInsPerSiteMax: 100, // from one /24 of IPv4 or /48 of IPv6 in one window
  signInsPerRegionMax: 1_000, // from one /16 of IPv4 or /32 of IPv6 in one window
  signInRequestsPerAddressMax: 100,
  passwordGuessesMax: 20, // for one person, shared by all networks; each browser that they signed in with has as many of its own
  passwordGuessesWindowMs: 5 * 60 * 1000,
  knownDeviceKeptMs: 180 * 24 * 60 * 60 * 1000,
  secondFactorGuessesMax: 10, // consecutive, with the right password
  secondFactorRestMs: 15 * 60 * 1000,
  countedMs: 25 * 60 * 60 * 1000, // how long counters are kept; longer than their longest window
  secondFactorCodeMs: 2 * 60 * 1000, // longer than any clock setting accepts a code
  signInQuestionsMax: 256, // that wait for the sign-in thread
  signInWaitMsMax: 15_000,
  consoleBundleMsMax: 120_000, // one second on an idle machine
  signInRestartMs: 1_000, // after the thread failed to start
  signInBodyBytesMax: 16 * 1024,
  signInQueryCharactersMax: 8 * 1024,
  signInCookieCharactersMax: 8 * 1024,
  userAgentCharactersMax: 300,
  signInConnections: 2,
  signInStatementMsMax: 5_000,
  subjectCharactersMax: 1_000, // of a person at an issuer; OpenID Connect allows 255
  groupNamesMax: 1_000, // in the claims of one person
  groupNameCharactersMax: 500,
  keptGroupsMax: 100, // of a person, for policies
  keptGroupsBytesMax: 3_072, // as JSON: an access token has them, too
  issuerAnswerMsMax: 5_000,
  issuerAnswerBytesMax: 1024 * 1024,
  // Mail
  mailsAtOnce: 4, // SMTP connections of one process
  mailsWaitingMax: 1_024,
  mailConnectMsMax: 10_000, // also for the server's greeting
  mailSilenceMsMax: 30_000,
  mailMsMax: 60_000, // time limit of one mail
  mailLookMs: 5_000, // interval at which each node looks for mails that are due
  mailPauseMs: 2 * 60 * 1000, // pause after the first attempt, doubled each time; longer than mailMsMax
  mailPauseMsMax: 6 * 60 * 60 * 1000,
  mailTriedMsMax: 3 * 24 * 60 * 60 * 1000,
  mailRefusalsMax: 3, // attempts after which a permanently refused recipient is given up
  mailFailureCharactersMax: 300, // logged part of an SMTP response
  nameSearchCharactersMax: 100,
  nameSearchRowsAtOnce: 5_000, // in one statement
  nameSearchRowsMax: 300_000,
  nameSearchMsMax: 500, // rows that were not read by then are not found
  nameSearchFoundMax: 8, // of each kind
  installationNameCharactersMax: 40,
  logoBytesMax: 32 * 1024,
  supportAddressCharactersMax: 200,
  rechargeTextCharactersMax: 500,
  termsVersionCharactersMax: 40,
  termsCharactersMax: 60_000, // of one document: some twenty printed pages
  consentsKeptMax: 20, // with a person; the audit log has all
  publicReadsPerMinuteMax: 300, // of public pages, from one IPv4 address or /64 of IPv6, on one node
  publicReadsPerSiteMax: 3_000, // in a minute, from one /24 of IPv4 or /48 of IPv6
  publicPageSecondsMax: 60, // for which caches keep a public page
  publicStatusKeptMs: 15_000, // for which a node remembers what it read for the public status page
  publicStatusDays: 90, // of ended incidents there
  landingTitleCharactersMax: 100,
  landingTextCharactersMax: 5_000,
  landingLinksMax: 10,
  mailNameCharactersMax: 60, // longest user-chosen name shown in a mail to someone else
  // Stripe
  stripeWaitMsMax: 10_000, // time limit of one response
  stripeRetriesMax: 2, // retries after a timeout or a temporary error
  stripeCallsAtOnceMax: 32,
  stripeCallsWaitingMax: 512, // with those that run
  stripeAnswerBytesMax: 16 * 1024 * 1024,
  stripeCauseCharactersMax: 500, // logged part of an error
  stripeCentsMax: 1_000_000_000_000,
  stripePageRows: 100,
  stripePagesMax: 1_000, // pages read of one list
  stripeCompletedAtOnce: 8, // payments of a list whose refunds and disputes are read at the same time
  stripeIntentsOfInvoiceMax: 20,
  savedMethodsListedMax: 20,
  stripeKeysKeptMs: 20 * 60 * 60 * 1000, // Stripe keeps idempotency keys for at least a day
  stripeStepKeyMs: 10 * 60 * 1000, // how long a step of a recharge keeps its idempotency key
  stripeClockSecondsMax: 3_600, // difference between Stripe's clock and this one
  stripeEventSecondsMax: 300, // age of a webhook request
  stripeEventBytesMax: 1024 * 1024,
  stripeSignatureCharactersMax: 4_096,
  // Payments
  paymentSyncsMax: 1_024, // payments that are brought to the provider's state, or wait for it, on a node,
  paymentSyncsPerSourceMax: 64, // and of those, of one payment
  paymentSyncTriesMax: 12, // tries to store a payment while others change it
  paymentCheckMsMin: 60_000, // shortest interval at which a pending payment is checked
  paymentCheckMsMax: 6 * 60 * 60 * 1000,
  paymentSweepMs: 30_000,
  paymentsSweptAtOnce: 100,
  paymentUnopenedMsMax: 24 * 60 * 60 * 1000, // a payment whose page was never opened at Stripe is canceled after this time
  paymentsPendingMax: 10, // pending payments of one account
  paymentsPerDayMax: 200, // payments that one account may begin in a day
  paymentsCountedMs: 24 * 60 * 60 * 1000,
  paymentRefusalEveryMs: 60_000, // shortest interval between audit records of refused webhook requests
  paymentEventsAtOnceMax: 16,
  paymentEventsWaitingMax: 256, // with those that run
  paymentEventWaitMs: 60 * 60 * 1000, // how long after the first payment the doctor misses events
  paymentEventMsMax: 10_000, // time limit for the body of a webhook request
  paymentsComparedMax: 1_000, // payments compared in one call of a check, rounded up to a whole part
  paymentDifferencesMax: 200,
  paymentCheckPartMs: 24 * 60 * 60 * 1000,
  paymentCheckCallMsMax: 20_000,
  paymentsCheckedDays: 30, // default range of a check
  planPriceKnownMs: 5 * 60 * 1000, // how long a price that was checked at Stripe is taken as right
  planPricesKnownMax: 1_000,
  subscriptionPageMs: 10 * 60 * 1000, // how long a repeated request opens the same page
  subscriptionsFoundMax: 10, // subscriptions of a customer that are looked at before another is sold
  plansWatchedMs: 10 * 60 * 1000,
  pricesWatchedMs: 60_000,
  planEndNoticeMs: 3 * 24 * 60 * 60 * 1000, // how long before its end a plan is reported
  planEndedNoticeMs: 2 * 24 * 60 * 60 * 1000, // how long after its end a plan is still reported
  // The admin API
  nameCharactersMax: 200,
  noteCharactersMax: 1_000,
  listMembersMax: 100,
  lowBalancesMax: 10, // thresholds of one account
  idsMax: 100, // in one list request
  originCharactersMax: 300,
  keysPerAccountMax: 10_000, // created with the account's own tokens; operators may create more
  tokensPerAccountMax: 1_000,
  peoplePerAccountMax: 1_000,
  invitationsAtOnce: 100, // in one request
  directoryGroupsMax: 1_000,
  viewsPerOwnerMax: 100, // saved views
  viewPageCharactersMax: 100,
  viewSearchCharactersMax: 2_000,
  keysEndedAtOnce: 500, // of a person who leaves an account, in one transaction
  unclaimedReadMax: 100, // people with one email that none of them claims
  directoryPriority: 100, // of a directory group, unless another is given
  directoryPriorityMax: 1_000,
  emailCharactersMax: 254,
  scimUsersMax: 100_000,
  scimGroupsMax: 1_000,
  scimMembersPerGroupMax: 10_000,
  scimMembersPerRequestMax: 10_000,
  scimEmailsMax: 10, // addresses of one user
  scimTextCharactersMax: 256, // of a name, an id of the directory or an address
  scimOperationsMax: 1_000, // in one PATCH
  scimFilterCharactersMax: 2_048, // also of `attributes`, and of the path of an operation
  scimFilterTermsMax: 64, // comparisons in one filter
  scimPageMax: 200, // users or groups in one answer,
  scimMembersPageMax: 20_000, // and members of all groups in it
  scimBodyBytesMax: 1024 * 1024,
  scimRowsAtOnce: 500, // memberships in one statement
  scimAnswersMax: 8, // at the same time, for one token; further requests wait
  scimWaitingMax: 128,
  codesPerBatchMax: 10_000,
  codeTypedCharactersMax: 100,
  codeGuessWindowMs: 10 * 60 * 1000,
  codeGuessesPerAccountMax: 20, // wrong redemption codes in one window, on one node
  codeGuessesPerAddressMax: 100,
  codeGuessesPerSiteMax: 300, // from one /24 of IPv4 or /48 of IPv6
  codeGuessersMax: 20_000, // accounts and addresses that are counted
  linkMs: 7 * 24 * 60 * 60 * 1000, // during which an invitation can be accepted
  signUpLinkMs: 24 * 60 * 60 * 1000, // lifetime of a link that confirms an email
  passwordResetLinkMs: 60 * 60 * 1000,
  signUpsPerAddressMax: 10, // sign-up mails requested in a day from one IPv4 address or /64 of IPv6
  signUpsPerSiteMax: 20, // from one /24 of IPv4 or /48 of IPv6
  signUpsPerRegionMax: 100, // from one /16 of IPv4 or /32 of IPv6
  signUpsPerDomainMax: 20, // sign-ups in a day from one domain that is neither listed nor a large mail provider's
  siteFreeShare: 2, // of a limit that all share, before other networks: one /24 of IPv4 or /48 of IPv6
  regionFreeShare: 8, // one /16 of IPv4 or /32 of IPv6
  signUpMailsPerSignUpMax: 10, // mails in a day, for each account that the setting allows
  invitationMailsPerAccountMax: 30, // invitations that people of one account may send in a day
  invitationMailsPerDayMax: 1_000, // that people of all accounts may send, shared by accounts
  invitationMailsPerMailboxMax: 10, // in a day, from all accounts
  accountFreeShare: 5, // invitations of one account in a day before other accounts
  mailsPerMailboxMax: 3, // about sign-ups in a day, about passwords in an hour
  passwordResetsPerAddressMax: 10, // resets requested in an hour from one IPv4 address or /64 of IPv6
  passwordResetsPerSiteMax: 20, // from one /24 of IPv4 or /48 of IPv6
  passwordResetsPerRegionMax: 100, // from one /16 of IPv4 or /32 of IPv6
  passwordResetsPerHourMax: 500,
  sentByHandPerHourMax: 100, // tests and repeated deliveries of an account
  unsubscribesPerDayMax: 50, // per destination; subscribing again counts too
  rateLimitMax: 1_000_000_000,
  applyNodesMax: 200_000,
  accountBodyBytesMax: 1024 * 1024, // with a token of an account, which sends no catalog
  adminAnswersPerTokenMax: 4, // at the same time, for tokens of an account
  adminAnswersPerAccountMax: 12,
  adminWaitingPerTokenMax: 128,
  adminWaitingPerAccountMax: 512,
  changesWaitingMax: 2_048, // changes of the admin API that run or wait on a node,
  changesWaitingPerOwnerMax: 1_024, // and per account, or per token or person of an operator,
  changesOfMembersWaitingMax: 1_536, // and for all accounts together, which leaves room for operators,
  changeWaitMsMax: 30_000, // and how long one waits: clients wait longer for an answer
  changeTriesMax: 30, // attempts of one change that conflicts with changes of other nodes
  changeRestMsMax: 30, // between two tries
  adminAnswerWaitMs: 60_000,
  nameLookupMsMax: 5_000, // of a provider's host, before the name counts as unresolvable
  idempotencyKeyCharactersMax: 255,
  creationRememberedMs: 24 * 60 * 60 * 1000,
  keyGraceMs: 24 * 60 * 60 * 1000,
  keyGraceMsMax: 30 * 24 * 60 * 60 * 1000,
  logLineCharactersMax: 8_192,
  // Bills of providers
  billBytesMax: 256 * 1024 * 1024, // of a CSV file
  billRowsMax: 2_000_000,
  billColumnsMax: 500,
  billCellCharactersMax: 8_192,
  billDaysMax: 100, // of one import
  billLinesMax: 20_000, // by day, model, feature and tier
  billModelsPerDayMax: 500, // further ones are added up
  billSourceModelsMax: 500, // names of models that a source maps
  billSourcesMax: 200,
  billRecordsAtOnce: 1_000, // usage records in memory
  billStallMsMax: 30_000, // how long an upload may send nothing
  billUploadMsMax: 15 * 60 * 1000, // how long a command waits for an import
  billDaysFetchedMax: 31,
  billDaysAgain: 3, // the last days, which the daily task reads again: vendors correct them
  billAnswerBytesMax: 16 * 1024 * 1024, // one page of a vendor's API
  billAnswerMsMax: 30_000,
  billPagesMax: 200,
  billTriesMax: 4,
  billRetryMs: 1_000, // doubled with each try
  billRetryMsMax: 30_000,
  billFetchMsMax: 10 * 60 * 1000, // all pages of one bill
  billsEveryMs: 24 * 60 * 60 * 1000,
  // Events and their deliveries
  eventsPollMs: 1_000,
  eventsSpreadAtOnce: 50,
  jobsPollMs: 5_000,
  jobsFirstAfterMs: 60_000, // delay of the first run after the start
  jobsEveryMs: 60 * 60 * 1000,
  providersWatchedMs: 5_000,
  backupAheadMsMax: 5 * 60 * 1000, // how far the clock of a backup program may be ahead
  backupReportEveryMs: 60 * 60 * 1000, // a backup that fails for the same reason is reported once in this time
  keyExpiryNoticeMs: 7 * 24 * 60 * 60 * 1000, // how long before its expiry a key is reported
  budgetsWatchedMs: 60_000, // between two looks at how fast budgets are used
  budgetsWatchedMax: 50_000, // windows of accounts, people and keys with a limit, in this order
  burningEventKeptMs: 32 * 24 * 60 * 60 * 1000, // beyond the retention of events, so that none repeats in its window
  usualDays: 14, // days whose mean is an account's usual spending
  unusualTimes: 3, // multiple of the usual spending above which a day is unusual
  unusualSpendLeast: 1_000_000_000, // nanodollars in a day; less is never unusual
  destinationsPerAccountMax: 20,
  destinationsOfOperatorsMax: 100,
  destinationTypesMax: 50, // patterns of one destination
  destinationAddressCharactersMax: 2_000,
  webhookSecretGraceMs: 24 * 60 * 60 * 1000, // how long a replaced secret still signs
  deliveriesAtOnce: 64, // deliveries in flight
  deliveriesFailingAtOnce: 16, // deliveries in flight to destinations whose last attempt failed or was slow
  deliveriesPerAccountAtOnce: 8,
  deliveriesPerDestinationAtOnce: 4,
  deliveriesWaitingMax: 1_000, // queue of one account at one destination; later events are stored as failed
  deliveriesExaminedMax: 5_000, // due deliveries examined in one round
  deliveryMsMax: 15_000,
  deliverySlowMs: 5_000, // an attempt that takes longer counts as one of a failing destination
  deliveryAnswerBytesMax: 4_096, // part of a response that is read
  deliveryExcerptCharactersMax: 300,
  deliveryAttemptsKept: 20,
  deliveryWritesPauseMs: 100, // pause between two transactions
  // Metrics and traces
  metricSeriesMax: 2_000, // of one metric; further names of models, providers and groups count as "other"
  accountsInMetricsMax: 50, // accounts that have metrics by their ids, and as many by their cost
  accountCountsKeptMax: 1_000, // accounts that had metrics before: one that returns continues its counters
  accountsFoundMs: 60_000, // how long the accounts with metrics are known, unless settings change
  accountLabelsKeptMs: 24 * 60 * 60 * 1000, // how long the name and place of an account stay in its metrics
  accountsRankedDays: 7, // before today, whose cost decides which accounts have metrics
  accountsRankedMax: 200, // accounts whose cost is compared
  metricDistributionsMax: 250, // of one histogram, which has a series per bucket
  upstreamHealthAttempts: 5, // the last attempts at a provider by which it counts as up or down
  eventLoopSampleMs: 50,
  tracedSpansQueuedMax: 4_096,
  tracedSpansPerExportMax: 512,
  telemetryFlushMsMax: 3_000,
  // Exports
  exportPageRows: 1_000, // records, and entries, that are in memory at a time
  exportReadsAtOnce: 8, // of single messages, beside the pages
  exportGroupRows: 10_000, // of a group of Parquet, which is in memory: about 10 MB
  exportGroupsMax: 50_000, // of sums that are in memory at a time: about 20 MB
  exportNamesMax: 10_000, // of accounts, and of keys, that one file remembers
  exportReadPausesMs: [1_000, 5_000, 15_000, 30_000], // before a page is read again while the store is busy or restarts
  exportDaysMax: 366, // that one file covers
  exportsRunningMax: 4, // files that are made at a time on a node
  exportsRunningPerCompanyMax: 1,
  exportPausedMsMax: 60_000, // that a client may take to read what was sent
  exportFirstByteMsMax: 60 * 60 * 1000, // for which a command waits for bytes: costs come when all is added up
  exportsPerAccountMax: 10, // that are sent at regular times
  exportsOfOperatorsMax: 100,
  exportMailAddressesMax: 20, // of one export
  exportsEveryMs: 60_000, // between two looks for what is due
  exportSettleMs: 60 * 60 * 1000, // after the end of a period, until its file is made
  exportPartRows: 1_000_000, // after which an object ends, and the place is stored
  exportUploadBytes: 8 * 1024 * 1024, // of one part of an upload
  exportUploadMsMax: 120_000, // for one request to the object store
  exportAnswerBytesMax: 64 * 1024, // of an answer of the object store
  exportSendsMax: 8, // attempts to send exports at a time
  exportSendsPerCompanyMax: 2,
  exportSendMsMax: 60 * 60 * 1000, // for one attempt; the next one goes on behind its last complete object
  exportsDueAtOnce: 1_000, // of which a run is due, that take turns
  exportTriesMax: 12, // of one run, within about a day and a half
  exportPauseMs: 60_000, // after the first failed attempt; doubled after each
  exportPauseMsMax: 6 * 60 * 60 * 1000,
} as const;
