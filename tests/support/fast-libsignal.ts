import { useFastAgreement } from '../../router/src/providers/baileys/signal/key-agreement.ts';
import { useFastVerification } from '../../router/src/providers/baileys/signal/verify-signature.ts';

// Before Baileys is loaded, as in main.ts: accounts of tests and the emulator are as fast as those of the service.
useFastVerification(false);
useFastAgreement();
