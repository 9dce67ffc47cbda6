import { useTexts } from '../../app/language.ts';
import { Card } from '../../components/page.tsx';
import { ConfigPart, type ConfigProps } from './config-part.tsx';
import { mistakeAt } from './route-draft.ts';
import { RareFields } from './route-fields.tsx';

/** Groups of settings in the order in which a conversation needs them. */
const HOW = [
  ...['reply', 'pace', 'presence', 'texts', 'group', 'access', 'takeover'],
  ...['session', 'commands', 'quota', 'media'],
];
const ON_FAILURE = ['notices'];
const OF_FAILURE = ['fallbackText', 'fallbackRouteId', 'tryForMs'];
/** Of `when`, shown with the person and the message. */
const SHOWN_WHEN = [
  ...['tags', 'languages', 'isGroup', 'isFirstContact'],
  ...['days', 'hours', 'timeZone', 'kinds', 'isMentioned', 'quotesUs'],
];

/** How wa2ai converses on the route. */
export function HowFields(props: ConfigProps) {
  const text = useTexts('routes');
  return (
    <Card title={text.how}>
      <p class="hint">{text.policiesHint}</p>
      <ConfigPart {...props} names={HOW} />
    </Card>
  );
}

/** What happens when the agent does not answer. */
export function FailureFields(props: ConfigProps) {
  const text = useTexts('routes');
  return (
    <Card title={text.onFailure}>
      <div class="stack">
        <ConfigPart {...props} names={ON_FAILURE} />
        <ConfigPart {...props} group="failure" names={OF_FAILURE} />
      </div>
    </Card>
  );
}

/** Everything that the other parts of the form do not show. */
export function AdvancedFields(props: ConfigProps) {
  const { schema, draft, mistakes } = props;
  const text = useTexts('routes');
  const namesOf = (group: string, shown: readonly string[]) =>
    Object.keys(schema.properties?.[group]?.properties ?? {}).filter((name) => !shown.includes(name));
  const others = Object.keys(schema.properties ?? {}).filter(
    (name) => ![...HOW, ...ON_FAILURE, 'failure', 'when'].includes(name),
  );
  const groups = { when: namesOf('when', SHOWN_WHEN), failure: namesOf('failure', OF_FAILURE) };
  const paths = [
    ...['priority', 'environment', ...others.map((name) => `config.${name}`)],
    ...Object.entries(groups).flatMap(([group, names]) => names.map((name) => `config.${group}.${name}`)),
  ];
  const hasMistake = paths.some((path) => mistakeAt(mistakes, path) !== undefined);
  return (
    <details class="card advanced" open={hasMistake}>
      <summary>
        <h2>{text.advanced}</h2>
      </summary>
      <div class="stack">
        <RareFields {...props} draft={draft} />
        <ConfigPart {...props} names={others} />
        <ConfigPart {...props} group="when" names={groups.when} />
        <ConfigPart {...props} group="failure" names={groups.failure} />
      </div>
    </details>
  );
}
