// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

import {LockTerms} from "../Words.sol";

/// @notice Price class of a model.
enum Tier {
    Lite,
    Standard,
    Pro,
    Max
}

/// @notice What is told about a model when it is listed.
struct ModelListing {
    string id; // stable public id, e.g. "qwen3-8b"
    string parameters; // parameter count label, e.g. "8B"
    string ownedBy; // originating organisation
    Tier tier;
    uint16 creditsPerRequest; // price up to 500 output tokens
    uint16 creditsPer1kTokens; // price per 1,000 output tokens above that
    uint32 contextWindow; // tokens
}

/// @notice A listed model as it stands now.
// Never stored: its order is for readers.
// solhint-disable-next-line gas-struct-packing
struct ModelView {
    uint16 number; // on-chain id, from 1
    ModelListing listing; // with the prices in force
    uint40 createdAt;
    uint40 retiresAt; // 0: not scheduled
    uint16 nextCreditsPerRequest; // announced, in force from `pricesChangeAt`
    uint16 nextCreditsPer1kTokens;
    uint40 pricesChangeAt; // 0: nothing announced
}

/// @title Models, tiers, prices and retirement
/// @dev Specification: Model resource, "Versioning" 3. Open jobs keep the price of their lock.
interface IModelCatalog {
    /// @notice A model was listed.
    /// @param model On-chain id, from 1.
    /// @param sequence The model's running number of events, starting at 1.
    event ModelListed(uint16 indexed model, uint32 sequence, ModelListing listing);
    /// @notice New prices were announced; an announcement replaces an earlier one that is not in force yet.
    event PricesScheduled(
        uint16 indexed model,
        uint32 sequence,
        uint16 creditsPerRequest,
        uint16 creditsPer1kTokens,
        uint40 effectiveAt
    );
    /// @notice The end of a model was announced; it works until then.
    event RetirementScheduled(uint16 indexed model, uint32 sequence, uint40 retiresAt);

    /// @notice No model has this number.
    error Catalog_UnknownModel(uint16 model);
    /// @notice A model with this public id was listed before.
    error Catalog_ModelExists(string id);
    /// @notice A model needs an id and a context window.
    error Catalog_InvalidListing(string id, uint32 contextWindow);
    /// @notice Both prices must be above zero.
    error Catalog_InvalidPrice(uint16 creditsPerRequest, uint16 creditsPer1kTokens);
    /// @notice An answer of the whole context window would cost more than a job can lock.
    error Catalog_PriceAboveLimit(uint32 contextWindow, uint32 credits, uint32 limit);
    /// @notice A notice period of the deployment is shorter than its minimum.
    error Catalog_InvalidNotice(bytes32 notice, uint256 seconds_, uint256 minimum);
    /// @notice The end of a model must be announced longer ahead.
    error Catalog_NoticeTooShort(uint256 requested, uint256 earliest);
    /// @notice The model has ended already.
    error Catalog_AlreadyRetired(uint16 model);

    /// @notice Lists a model at once. Owner only.
    function list(ModelListing calldata listing) external returns (uint16 model);
    /// @notice Announces prices, in force after the notice. Owner only.
    function schedulePrices(uint16 model, uint16 creditsPerRequest, uint16 creditsPer1kTokens) external;
    /// @notice Announces the end of a model, at least the retirement notice ahead. Owner only.
    function scheduleRetirement(uint16 model, uint40 retiresAt) external;

    /// @notice Terms of a job locked now, in one word (Words.sol); zero for an unknown or retired model.
    function termsOf(uint16 model) external view returns (LockTerms);
    /// @notice Number of models ever listed; ids are 1 … count.
    function modelCount() external view returns (uint16);
    /// @notice One model; reverts if unknown.
    function modelAt(uint16 model) external view returns (ModelView memory);
    /// @notice Shortest time between the announcement of a price and its effect, seconds.
    function priceNotice() external view returns (uint40);
    /// @notice Shortest time between the announcement of a retirement and its effect, seconds.
    function retirementNotice() external view returns (uint40);
}
