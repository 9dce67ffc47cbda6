import { type Abi, createPublicClient, createWalletClient, type Hex, http } from 'viem';
import { generatePrivateKey, privateKeyToAccount } from 'viem/accounts';
import { EvmChain } from '../doubles/evm-chain.ts';
import { contract } from './contracts.ts';

/** A chain with the contracts of the specification, and a wallet that has tokens and has allowed both to spend them. */
export interface NpcChainBed {
  chain: EvmChain;
  key: Hex;
  wallet: Hex;
  token: Hex;
  arena: Hex;
  quest: Hex;
  /** Another person's address. */
  opponent: Hex;
  read(
    name: 'Arena' | 'Quest' | 'Token',
    address: Hex,
    functionName: string,
    args?: unknown[],
  ): Promise<unknown>;
  /** As the owner of the contracts, or with another key. The transaction is in a block afterwards. */
  write(
    name: 'Arena' | 'Quest' | 'Token',
    address: Hex,
    functionName: string,
    args: unknown[],
    key?: Hex,
  ): Promise<Hex>;
}

export const TOKENS = 1_000n;

let chains = 0;

export async function npcChainBed(): Promise<NpcChainBed> {
  chains += 1;
  const chain = await EvmChain.start(31_337 + chains);
  const definition = {
    id: chain.chainId,
    name: 'test',
    nativeCurrency: { name: 'Ether', symbol: 'ETH', decimals: 18 },
    rpcUrls: { default: { http: [chain.url] } },
  };
  const options = { chain: definition, transport: http(chain.url), pollingInterval: 5, cacheTime: 0 };
  const reader = createPublicClient(options);
  const clientOf = (key: Hex) => createWalletClient({ ...options, account: privateKeyToAccount(key) });
  const owner = generatePrivateKey();
  const key = generatePrivateKey();
  const wallet = privateKeyToAccount(key).address.toLowerCase() as Hex;
  await chain.fund(privateKeyToAccount(owner).address);
  await chain.fund(wallet);
  const mined = async (hash: Hex) => {
    if (!chain.isMining) await chain.mine();
    return await reader.waitForTransactionReceipt({ hash });
  };
  const deploy = async (name: 'Arena' | 'Quest' | 'Token') => {
    const { abi, bytecode } = contract(name);
    const { contractAddress } = await mined(await clientOf(owner).deployContract({ abi, bytecode }));
    return contractAddress?.toLowerCase() as Hex;
  };
  const write: NpcChainBed['write'] = async (name, address, functionName, args, by = owner) => {
    const { abi } = contract(name) as { abi: Abi };
    const hash = await clientOf(by).writeContract({ abi, address, functionName, args });
    await mined(hash);
    return hash;
  };
  const token = await deploy('Token');
  const arena = await deploy('Arena');
  const quest = await deploy('Quest');
  await write('Token', token, 'mint', [wallet, TOKENS]);
  await write('Token', token, 'approve', [arena, TOKENS], key);
  await write('Token', token, 'approve', [quest, TOKENS], key);
  return {
    chain,
    key,
    wallet,
    token,
    arena,
    quest,
    opponent: privateKeyToAccount(owner).address.toLowerCase() as Hex,
    read: (name, address, functionName, args = []) =>
      reader.readContract({ abi: contract(name).abi, address, functionName, args }),
    write,
  };
}
