// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

import {IERC20} from "@openzeppelin/contracts/token/ERC20/IERC20.sol";
import {IArbitrationPanel} from "../../../contracts/interfaces/IArbitrationPanel.sol";
import {IInferenceEscrow} from "../../../contracts/interfaces/IInferenceEscrow.sol";
import {IProtocolTreasury} from "../../../contracts/interfaces/IProtocolTreasury.sol";
import {IModelCatalog, ModelListing, Tier} from "../../../contracts/interfaces/IModelCatalog.sol";
import {IWorkerRegistry} from "../../../contracts/interfaces/IWorkerRegistry.sol";
import {JobMessages} from "../../../contracts/JobMessages.sol";
import {Assignment, Authorization, Completion, Signature, Windows} from "../../../contracts/Types.sol";
import {HostileStablecoin} from "../tokens/HostileStablecoin.sol";
import {create, createLinked, VM} from "./Vm.sol";

/// @dev What only the deployment calls.
interface IRegistryDeployment {
    function setEscrow(address escrow) external;
}

/// @notice The protocol on a hostile token, owned by this contract, with two operators and keys that can sign.
abstract contract Protocol {
    /// @dev Keys of the operators' first signers; operator 1 has the first one.
    uint256 internal constant FIRST_GATEWAY_KEY = 0xA11CE;
    uint8 internal constant OPERATORS = 2;
    uint56 internal constant STAKE = 1_000_000_000;
    uint40 internal constant COMPLETION = 120;
    uint40 internal constant INCLUSION = 30;
    uint40 internal constant FINALIZATION = 3_600;
    uint40 internal constant DISPUTE = 60;
    /// @dev Shorter than the equivocation window, so that a dispute can expire inside it.
    uint40 internal constant ARBITRATION = 6 hours;
    uint40 internal constant EQUIVOCATION = 1 days;
    uint40 internal constant NOTICE = 1 days;
    /// @dev As short as the escrow allows: a second longer than a stake is at risk.
    uint40 internal constant UNBONDING = EQUIVOCATION + 1;
    /// @dev After an equivocation at the last moment the wallet disputes at the last moment.
    uint40 internal constant LONGEST_RISK = 2 * EQUIVOCATION + ARBITRATION;
    address internal constant GUARDIAN = address(0x6ABD);
    string private constant ESCROW_ARTIFACT = "artifacts/contracts/InferenceEscrow.sol/InferenceEscrow.json";

    HostileStablecoin public token;
    IERC20 public svc;
    IModelCatalog public catalog;
    IWorkerRegistry public registry;
    IArbitrationPanel public panel;
    IInferenceEscrow public escrow;
    IProtocolTreasury public treasury;

    /// @param cap Compensations of a UTC day, credits.
    function deployProtocol(uint40 cap) internal {
        VM.warp(1_900_000_000);
        token = HostileStablecoin(create("HostileStablecoin", ""));
        Windows memory windows = Windows(
            uint32(COMPLETION),
            uint32(INCLUSION),
            uint32(FINALIZATION),
            uint32(DISPUTE),
            uint32(ARBITRATION),
            uint32(EQUIVOCATION),
            uint32(NOTICE)
        );
        svc = IERC20(create("ServiceToken", abi.encode(address(this), 1e27)));
        catalog = IModelCatalog(create("ModelCatalog", abi.encode(address(this), NOTICE, 14 days)));
        registry = IWorkerRegistry(
            create("WorkerRegistry", abi.encode(address(this), svc, STAKE, STAKE / 2, 10_000, UNBONDING))
        );
        panel = IArbitrationPanel(create("ArbitrationPanel", abi.encode(address(this), arbitersOf(1), 2)));
        treasury = newTreasury();
        string[] memory libraries = new string[](2);
        (libraries[0], libraries[1]) = ("DisputeLogic", "OperatorLogic");
        escrow = IInferenceEscrow(
            createLinked(
                ESCROW_ARTIFACT,
                libraries,
                abi.encode(token, catalog, registry, panel, address(this), GUARDIAN, treasury, 1_000, cap, windows)
            )
        );
        treasury.setEscrow(address(escrow));
        panel.setEscrow(address(escrow));
        IRegistryDeployment(address(registry)).setEscrow(address(escrow));
        for (uint8 operator = 1; operator <= OPERATORS; ++operator) {
            escrow.admitOperator(address(this));
            addSigner(operator, FIRST_GATEWAY_KEY + operator - 1);
        }
        catalog.list(ModelListing("dear", "70B", "a", Tier.Max, 40, 20, 128_000));
        catalog.list(ModelListing("cheap", "1B", "b", Tier.Lite, 2, 1, 4_096));
        svc.approve(address(registry), type(uint256).max);
        token.approve(address(escrow), type(uint256).max);
    }

    /// @dev The first signer of an operator.
    function gatewayOf(uint256 operator) internal pure returns (address) {
        return VM.addr(FIRST_GATEWAY_KEY + operator - 1);
    }

    /// @dev Adds a signer to an operator of this contract's.
    function addSigner(uint8 operator, uint256 key) internal {
        address[] memory added = new address[](1);
        Signature[] memory consents = new Signature[](1);
        added[0] = VM.addr(key);
        consents[0] = signed(key, JobMessages.hashSignerConsent(operator, address(this)));
        escrow.rotateSigners(operator, added, consents, new address[](0));
    }

    /// @dev The three arbiters of a set; sets of even and of odd numbers share nobody.
    function arbitersOf(uint256 set) internal pure returns (address[] memory arbiters) {
        arbiters = new address[](3);
        for (uint160 i = 0; i < 3; ++i) arbiters[i] = address(0xA000 + uint160(set % 2) * 16 + i);
    }

    function newTreasury() internal returns (IProtocolTreasury) {
        return IProtocolTreasury(create("ProtocolTreasury", abi.encode(address(this), token)));
    }

    /// @dev Registers the key with the minimum stake; it is paid at `payout`.
    function addWorker(uint256 key, address payout) internal {
        uint16[] memory models = new uint16[](2);
        (models[0], models[1]) = (1, 2);
        bytes32 domain = keccak256(
            abi.encode(
                keccak256("EIP712Domain(string name,string version,uint256 chainId,address verifyingContract)"),
                keccak256("WorkerRegistry"),
                keccak256("1"),
                block.chainid,
                address(registry)
            )
        );
        bytes32 structHash = keccak256(abi.encode(keccak256("Enrollment(address owner)"), address(this)));
        registry.register(VM.addr(key), payout, "https://worker", models, STAKE, _signed(key, domain, structHash));
    }

    function signCompletion(uint256 key, Completion memory c) internal view returns (Signature memory) {
        return signed(key, keccak256(abi.encode(JobMessages.COMPLETION_TYPEHASH, c)));
    }

    function signAssignment(uint256 key, Assignment memory a) internal view returns (Signature memory) {
        return signed(key, keccak256(abi.encode(JobMessages.ASSIGNMENT_TYPEHASH, a)));
    }

    function signAcknowledgement(uint256 key, bytes16 jobId, uint8 attempt) internal view returns (Signature memory) {
        return signed(key, JobMessages.hashAcknowledgement(jobId, attempt));
    }

    function signAuthorization(uint256 key, Authorization memory a) internal view returns (Signature memory) {
        return signed(key, keccak256(abi.encode(JobMessages.AUTHORIZATION_TYPEHASH, a)));
    }

    /// @dev A request of a dispute key, good for `seconds_`.
    function signDisputeRequest(
        uint256 key,
        Completion memory completion,
        bytes32 receivedHash,
        uint32 maxBond,
        uint32 keySequence,
        uint40 seconds_
    ) internal view returns (Signature memory) {
        return
            signed(
                key,
                JobMessages.hashDisputeRequest(
                    completion.jobId,
                    receivedHash,
                    completion.proofHash,
                    maxBond,
                    keySequence,
                    uint40(block.timestamp) + seconds_
                )
            );
    }

    /// @dev A message of the escrow.
    function signed(uint256 key, bytes32 structHash) internal view returns (Signature memory) {
        return _signed(key, escrow.domainSeparator(), structHash);
    }

    /// @dev A UUIDv7 of now.
    function uuid7(uint256 random) internal view returns (bytes16) {
        uint256 low = uint256(keccak256(abi.encode(random)));
        uint256 bits = ((block.timestamp * 1000) << 80) | (7 << 76) | (((low >> 192) & 0xfff) << 64);
        return bytes16(uint128(bits | (2 << 62) | ((low & type(uint64).max) >> 2)));
    }

    function _signed(uint256 key, bytes32 domain, bytes32 structHash) private pure returns (Signature memory) {
        (uint8 v, bytes32 r, bytes32 s) = VM.sign(key, keccak256(abi.encodePacked(hex"1901", domain, structHash)));
        return Signature(r, bytes32(uint256(s) | (uint256(v - 27) << 255)));
    }
}
