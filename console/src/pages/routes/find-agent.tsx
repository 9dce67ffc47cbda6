import { useRef, useState } from 'preact/hooks';
import { call, type Schemas } from '../../api/call.ts';
import { useAction } from '../../api/use-action.ts';
import { useTexts } from '../../app/language.ts';
import { Button } from '../../components/button.tsx';
import { TextField } from '../../components/form.tsx';
import { Badge, Card } from '../../components/page.tsx';
import { ErrorState } from '../../components/states.tsx';
import type { RouteDraft } from './route-draft.ts';

/** With what the form of a new route begins. */
export interface FoundAgent extends Partial<Pick<RouteDraft, 'channelId' | 'agentEndpoint' | 'config'>> {
  /** Another agent begins another form. */
  round: number;
  /** Names to choose from, by the field of the settings: agents of an ADK server, models of a model server. */
  names: Readonly<Record<string, readonly string[]>>;
}

const MAX_SHOWN = 12;

/** Asks for the address of the agent first: what answers there fills the form. */
export function FindAgent({ onFound }: { onFound: (found: FoundAgent) => void }) {
  const text = useTexts('routes');
  const titles: Readonly<Record<string, string>> = text.kinds;
  const [address, setAddress] = useState('');
  const [found, setFound] = useState<Schemas['AgentInspection']>();
  const [isByHand, setByHand] = useState(false);
  const rounds = useRef(0);
  const begin = (agent: Omit<FoundAgent, 'round'>) => {
    rounds.current += 1;
    onFound({ round: rounds.current, ...agent });
  };
  const find = useAction(async () => {
    setFound(undefined);
    setByHand(false);
    const agentEndpoint = address.trim();
    const { data } = await call('POST /api/routes/inspect', { body: { agentEndpoint } });
    setFound(data);
    const { kind, route, apps = [], models = [] } = data;
    const { channelId, config } = (route ?? {}) as Partial<Pick<RouteDraft, 'channelId' | 'config'>>;
    begin({
      agentEndpoint,
      config: config ?? { [kind]: {} },
      // A kind for one chat names an example.
      ...(channelId === '*' && { channelId }),
      names: { appName: apps, model: models },
    });
  });
  const byHand = () => {
    setFound(undefined);
    setByHand(true);
    begin({ agentEndpoint: address.trim(), names: {} });
  };
  return (
    <Card>
      <form
        class="find-agent"
        onSubmit={(event) => {
          event.preventDefault();
          void find.run();
        }}
      >
        <TextField
          type="url"
          label={text.whereAgent}
          hint={text.whereHint}
          placeholder="http://localhost:8000"
          value={address}
          onInput={setAddress}
        />
        <div class="actions">
          <Button type="submit" kind="main" isBusy={find.isRunning} isDisabled={address.trim() === ''}>
            {text.findAgent}
          </Button>
          <Button isPressed={isByHand} onClick={byHand}>
            {text.byHand}
          </Button>
        </div>
      </form>
      <div aria-live="polite" class="stack">
        {find.problem && !isByHand && <ErrorState problem={find.problem} />}
        {found && (
          <dl class="facts found">
            <dt>{text.kind}</dt>
            <dd>
              {titles[found.kind] ?? found.kind} <Badge mood="good">{text.answers}</Badge>
            </dd>
            {found.version !== undefined && (
              <>
                <dt>{text.version}</dt>
                <dd>{found.version}</dd>
              </>
            )}
            {found.capabilities.length > 0 && (
              <>
                <dt>{text.capabilities}</dt>
                <dd>
                  <ul class="chips">
                    {found.capabilities.slice(0, MAX_SHOWN).map((each) => (
                      <li key={each}>{each}</li>
                    ))}
                    {found.capabilities.length > MAX_SHOWN && <li>…</li>}
                  </ul>
                </dd>
              </>
            )}
          </dl>
        )}
      </div>
    </Card>
  );
}
