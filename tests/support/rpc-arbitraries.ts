import fc from 'fast-check';

const METHODS = ['task.open', 'task.status', 'task.list'];
const NAMES =
  'type params taskId limit cursor status action item quantity price offerId trigger intensity memoryType content query memoryId peer __proto__ constructor';

const word = fc.constantFrom('memory', 'emotion', 'trade', 'social', 'task_1', '1', 'recall', 'accept');
const value = fc.oneof(word, fc.jsonValue(), fc.constantFrom(0, -1, 1e308, '\u0000', '9'.repeat(100)));
const field = fc.constantFrom(...NAMES.split(' '));
const params = fc.dictionary(field, fc.oneof(value, fc.dictionary(field, value)));

const text = fc.oneof(fc.string({ unit: 'grapheme' }), fc.string({ unit: 'binary' }), word);
const number = fc.oneof(fc.nat(100), fc.double({ min: 0, max: 100, noNaN: true }));
const wei = fc.bigInt({ min: 0n, max: 2n ** 256n - 1n }).map(String);
const id = fc.oneof(fc.nat(20).map(String), fc.constantFrom('9'.repeat(18), '9'.repeat(30), 'none'));
/** Tasks that are almost always accepted. */
const task = fc.oneof(
  fc.record({
    type: fc.constant('emotion'),
    params: fc.record({ trigger: text, intensity: number, context: fc.dictionary(text, value) }),
  }),
  fc.record({
    type: fc.constant('memory'),
    params: fc.oneof(
      fc.record({
        memoryType: fc.constantFrom('event', 'interaction', 'relationship'),
        content: fc.oneof(text, fc.dictionary(text, fc.jsonValue())),
        importance: number,
      }),
      fc.record({ action: fc.constant('recall'), query: text, limit: fc.integer({ min: 1, max: 50 }) }),
      fc.record({ action: fc.constant('forget'), memoryId: id }),
    ),
  }),
  fc.record({
    type: fc.constant('trade'),
    params: fc.oneof(
      fc.record({ item: text, quantity: fc.integer({ min: 1, max: 1e15 - 1 }), price: wei }),
      fc.record({ action: fc.constantFrom('accept', 'decline', 'list'), offerId: id }),
    ),
  }),
);

const call = fc.oneof(
  fc.record({
    jsonrpc: fc.constant('2.0'),
    method: fc.constant('task.open'),
    params: task,
    id: fc.integer(),
  }),
  fc.record(
    {
      jsonrpc: fc.oneof({ weight: 9, arbitrary: fc.constant('2.0') }, { weight: 1, arbitrary: value }),
      method: fc.oneof(fc.constantFrom(...METHODS), fc.string()),
      params,
      id: fc.oneof(fc.integer(), fc.string(), fc.jsonValue()),
    },
    { requiredKeys: ['method'] },
  ),
);

/** Bodies of `POST /rpc`: calls with parameters of many types, batches, and other texts. */
export const anyRpcBody: fc.Arbitrary<string> = fc.oneof(
  call.map((one) => JSON.stringify(one)),
  fc.array(call, { maxLength: 5 }).map((batch) => JSON.stringify(batch)),
  fc.string(),
);
